import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { virtualEnvironment } from '../../scripts/toolchain/python-environment.mjs'
import type { NotRun } from '../measure/result.ts'

const FOLDER = fileURLToPath(new URL('../python', import.meta.url))

/**
 * Calls `work` with the interpreter of a virtual environment that has the packages of the runner and of its peers. So the runner
 * and its peers start the same Python with the same packages. If the machine cannot run them, returns the reason.
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
  // pip installs setuptools, which slows every start of an interpreter.
  spawnSync(python, ['-m', 'pip', 'uninstall', '--quiet', '--yes', 'setuptools'])
  return work(python)
}
