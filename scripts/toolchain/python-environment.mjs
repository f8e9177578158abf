import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
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
  // The operator's own packages, for modules (docs/packages.md).
  const added = [join(folder, 'packages.txt')].filter((path) => existsSync(path))
  return virtualEnvironment({ what: "the Python runner's packages", folder, locks, mode, added })
}

/**
 * Makes `.venv` in `folder` with the packages of a lock and of the locks in `added`, unless it exists. Resolves to `{ python }` or
 * `{ missing }`.
 */
export async function virtualEnvironment({ what, folder, locks, mode, added = [] }) {
  if (process.platform === 'win32') return { missing: 'The Python runner needs Linux or macOS.' }
  const environment = join(folder, '.venv')
  const python = join(environment, 'bin/python')
  try {
    const chosen = process.env.TOOLRACK_PYTHON ? realPath(findPython().path) : undefined
    await install({
      root,
      what,
      folders: [environment],
      mode,
      digest: (filled) => digest(filled, chosen),
      fill,
    })
    return { python }
  } catch (err) {
    if (err instanceof PythonError) return { missing: err.message }
    throw err
  }

  /** The digest of the locks and of the interpreter's path; undefined if another interpreter was chosen. Starts no Python. */
  function digest(filled, chosen) {
    const interpreter = realPath(join(filled, 'bin/python'))
    if (chosen !== undefined && interpreter !== chosen) return undefined
    return fingerprint([...Object.values(locks), ...added], interpreter)
  }

  async function fill(wanted, place) {
    const { path } = findPython()
    const filled = join(place, relative(root, environment))
    await runInstaller({
      what,
      command: [path, '-I', '-m', 'venv', filled],
      failed: () =>
        new PythonError(
          `${path} cannot make a virtual environment: install its package for that (on Debian and Ubuntu: apt install python3-venv), or set TOOLRACK_PYTHON to another Python.`,
        ),
    })
    const own = added.length > 0 ? ', or correct python-runner/packages.txt' : ''
    const files = [locks[wanted], ...added].flatMap((path) => ['-r', path])
    await runInstaller({
      what,
      command: [join(filled, 'bin/python'), '-I', '-m', 'pip', 'install', ...pipFlags, ...files],
      env: { ...process.env, ...intoEnvironment },
      failed: () =>
        new PythonError(
          `Could not install ${what}: pip has said why. Run the command again where pip reaches its registry${own}.`,
        ),
    })
    relocate(filled, environment)
  }
}

/** Writes the final path into the programs and settings of an environment that was made elsewhere. */
function relocate(filled, environment) {
  const programs = readdirSync(join(filled, 'bin')).map((name) => join(filled, 'bin', name))
  // Some programs are binaries. As latin1 every byte stays as it is.
  const [from, to] = [filled, environment].map((path) => Buffer.from(path).toString('latin1'))
  for (const path of [...programs, join(filled, 'pyvenv.cfg')]) {
    if (!existsSync(path) || !lstatSync(path).isFile()) continue
    const text = readFileSync(path, 'latin1')
    if (text.includes(from)) writeFileSync(path, text.replaceAll(from, to), 'latin1')
  }
}

function realPath(path) {
  return existsSync(path) ? realpathSync(path) : undefined
}
