import { join } from 'node:path'
import { runPython } from './pip.mjs'
import { PythonMissing } from './python-missing.mjs'

/**
 * Makes a virtual environment in an empty folder; resolves to the command of a pip that installs into it. Debian takes
 * `ensurepip` out of Python into a package of its own: without that one, a pip of the system's can do the same work.
 */
export async function makeVirtualEnvironment({ base, environment, env, onSpawn }) {
  const inside = join(environment, 'bin/python')
  const make = (...flags) =>
    runPython([base.path, '-I', '-m', 'venv', '--clear', ...flags, environment], { env, onSpawn })
  if ((await make()).code === 0) return [inside, '-m', 'pip']

  const pip = [base.path, '-m', 'pip', '--python', inside]
  if (
    (await make('--without-pip')).code === 0 &&
    (await runPython([...pip, '--version'], { env })).code === 0
  )
    return pip
  throw new PythonMissing(
    `${base.path} can not make a virtual environment: install its package for that (on Debian and Ubuntu: apt install python3-venv), or set TOOLRACK_PYTHON to another Python.`,
  )
}
