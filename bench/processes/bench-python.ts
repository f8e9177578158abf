import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { virtualEnvironment } from '../../scripts/toolchain/python-environment.mjs'
import type { NotRun } from '../measure/result.ts'

const FOLDER = fileURLToPath(new URL('../python', import.meta.url))

/**
 * Lends the interpreter of a virtual environment with the packages of the runner and of its peers, so that both sides
 * start the same Python among the same packages. Returns why the machine cannot run them if it cannot.
 */
export async function withBenchPython<T>(work: (python: string) => Promise<T>): Promise<T | NotRun> {
  if (process.platform !== 'linux') return { notRun: 'The jail of a call is complete on Linux only.' }
  const { python, missing } = await virtualEnvironment({
    what: "the packages of the runner's benchmark",
    folder: FOLDER,
    locks: { full: `${FOLDER}/requirements.txt` },
    mode: 'full',
  })
  if (missing !== undefined) return { notRun: missing }
  // This package comes with pip, and slows every start of an interpreter.
  spawnSync(python, ['-m', 'pip', 'uninstall', '--quiet', '--yes', 'setuptools'])
  return work(python)
}
