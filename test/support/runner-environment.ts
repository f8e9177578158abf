import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { testWhere } from './test-where.ts'

/** The runner's Python, which `npm test` installs. */
export const PYTHON = fileURLToPath(new URL('../../python-runner/.venv/bin/python', import.meta.url))

export const RUNNER = fileURLToPath(new URL('../../python-runner', import.meta.url))

/** `test`, or a skipped test if the real runner cannot be started. */
export const withPython = testWhere(
  existsSync(PYTHON),
  'There is no Python environment in python-runner/.venv: the suites with the real runner can not run.',
)
