import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.mjs'
import { fingerprint, install, runInstaller } from './install.mjs'
import { findPython, PythonError } from './python.mjs'

/** Installs exactly what the lock says, by its hashes, and only wheels: nothing is built. */
const pipFlags = ['--require-hashes', '--only-binary=:all:', '--disable-pip-version-check', '--no-input']

/** Overrides the settings of a user that would install into another folder. To pip '' means not set. */
const intoEnvironment = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_TARGET: '',
  PIP_PREFIX: '',
  PIP_ROOT: '',
  PIP_PYTHON: '',
}

/**
 * The runner's Python: `{ python }`, the interpreter of its virtual environment, or `{ missing }`, a sentence that says
 * what to do. `runtime` installs what the runner imports, `full` also what its checks and tests need.
 */
export function preparePython(mode) {
  const folder = join(root, 'python-runner')
  const locks = {
    runtime: join(folder, 'requirements.txt'),
    full: join(folder, 'requirements-dev.txt'),
  }
  return virtualEnvironment({ what: "the Python runner's packages", folder, locks, mode })
}

/** Makes `.venv` in `folder` with the packages of a lock, unless it is there: `{ python }` or `{ missing }`. */
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

  /** The environment fits if its interpreter has the same path. No Python is started to find that out. */
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
