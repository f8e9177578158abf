import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.mjs'
import { fingerprint, install, runInstaller } from './install.mjs'
import { findPython, PythonError } from './python.mjs'

/** Flags to install exactly the packages of the lock, checked by their hashes, and only as wheels: nothing is built. */
const pipFlags = ['--require-hashes', '--only-binary=:all:', '--disable-pip-version-check', '--no-input']

/** Overrides settings of the user that would make pip install into another folder. For pip, '' means not set. */
const intoEnvironment = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_TARGET: '',
  PIP_PREFIX: '',
  PIP_ROOT: '',
  PIP_PYTHON: '',
}

/**
 * The runner's Python: `{ python }`, the interpreter of its virtual environment, or `{ missing }`, a sentence that tells
 * the user what to do. `runtime` installs the packages that the runner imports, `full` also those of its checks and tests.
 */
export function preparePython(mode) {
  const folder = join(root, 'python-runner')
  const locks = {
    runtime: join(folder, 'requirements.txt'),
    full: join(folder, 'requirements-dev.txt'),
  }
  return virtualEnvironment({ what: "the Python runner's packages", folder, locks, mode })
}

/** Makes `.venv` in `folder` with the packages of a lock, unless it exists. Resolves to `{ python }` or `{ missing }`. */
export async function virtualEnvironment({ what, folder, locks, mode }) {
  if (process.platform === 'win32') return { missing: 'The Python runner needs Linux or macOS.' }
  const environment = join(folder, '.venv')
  const python = join(environment, 'bin/python')
  try {
    const chosen = process.env.TOOLRACK_PYTHON ? realPath(findPython().path) : undefined
    await install({ root, what, folders: [environment], mode, digest: () => digest(chosen), fill })
    return { python }
  } catch (err) {
    if (err instanceof PythonError) return { missing: err.message }
    throw err
  }

  /** The digest of the locks and of the interpreter's path; undefined if another interpreter was chosen. Starts no Python. */
  function digest(chosen) {
    const interpreter = realPath(python)
    if (chosen !== undefined && interpreter !== chosen) return undefined
    return fingerprint(Object.values(locks), interpreter)
  }

  async function fill(wanted) {
    const { path } = findPython()
    await runInstaller({
      what,
      command: [path, '-I', '-m', 'venv', environment],
      failed: () =>
        new PythonError(
          `${path} cannot make a virtual environment: install its package for that (on Debian and Ubuntu: apt install python3-venv), or set TOOLRACK_PYTHON to another Python.`,
        ),
    })
    await runInstaller({
      what,
      command: [python, '-I', '-m', 'pip', 'install', ...pipFlags, '-r', locks[wanted]],
      env: { ...process.env, ...intoEnvironment },
      failed: () =>
        new PythonError(
          `Could not install ${what}: pip has said why. Run the command again where pip reaches its registry.`,
        ),
    })
  }
}

function realPath(path) {
  return existsSync(path) ? realpathSync(path) : undefined
}
