import {
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './checkout.mjs'
import { fingerprint, install, readStamp, runInstaller } from './install.mjs'
import { lineNamedBy } from './lock-line.mjs'
import { findPython, PythonError } from './python.mjs'
import { pipSource } from './wheel-source.mjs'

/** Flags of pip: install exactly the packages of the lock, check their hashes, and use only wheels, so that nothing is built. */
const pipFlags = ['--require-hashes', '--only-binary=:all:', '--disable-pip-version-check', '--no-input']

/** Flags with which pip fails soon. They are used if there is an earlier environment that works. */
const soonFlags = ['--retries=1', '--timeout=10']

/** The name of the copy of the operator's lock, in the environment that was made from this lock. */
const copyName = 'packages.txt'

/** pip could not install the packages. The operator's own lock may be the reason. */
class PackagesError extends PythonError {
  constructor(message, output) {
    super(message)
    this.output = output
  }
}

/** Variables that override the user's settings with which pip would install into another folder. For pip, '' means not set. */
const intoEnvironment = {
  PIP_USER: '0',
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
  return virtualEnvironment(runnerEnvironment(mode, addedLock))
}

/**
 * Makes the runner's environment with `lock` in place of the operator's own lock, or without it if this file does not exist. If that
 * fails, resolves to `{ missing }`, and the environment stays as it was.
 * @param {string} lock
 */
export function preparePythonWith(lock) {
  return virtualEnvironment({ ...runnerEnvironment('runtime', lock), isAddedNeeded: true })
}

const runnerFolder = join(root, 'python-runner')

/** The lock of the packages that the operator adds for modules (docs/how-to/run.md). */
export const addedLock = join(runnerFolder, 'packages.txt')

function runnerEnvironment(mode, added) {
  const locks = {
    runtime: join(runnerFolder, 'requirements.txt'),
    full: join(runnerFolder, 'requirements-dev.txt'),
  }
  return { what: "the Python runner's packages", folder: runnerFolder, locks, mode, added }
}

/**
 * Makes `.venv` in `folder` with the packages of a lock, and of the lock `added` if it exists. Does nothing if this `.venv` exists.
 * Resolves to `{ python }` or `{ missing }`. If `added` cannot be installed, warns, and keeps the environment that worked
 * before. If there is none, makes an environment without `added`. With `isAddedNeeded`, resolves to `{ missing }` instead.
 * @param {{
 *   what: string,
 *   folder: string,
 *   locks: { full: string, runtime?: string },
 *   mode: 'full' | 'runtime',
 *   added?: string,
 *   isAddedNeeded?: boolean,
 * }} environment
 * @returns {Promise<{ python: string, missing?: never } | { python?: never, missing: string }>}
 */
export async function virtualEnvironment({ what, folder, locks, mode, added, isAddedNeeded = false }) {
  if (process.platform === 'win32') return { missing: 'The Python runner needs Linux or macOS.' }
  const environment = join(folder, '.venv')
  const python = join(environment, 'bin/python')
  const copy = join(environment, copyName)
  const own = added !== undefined && existsSync(added) ? [added] : []
  try {
    const chosen = process.env.TOOLRACK_PYTHON ? realPath(findPython().path) : undefined
    try {
      await make(own, chosen, hasWorked(chosen) && !isAddedNeeded)
    } catch (err) {
      if (!(err instanceof PackagesError) || own.length === 0 || isAddedNeeded) throw err
      warn(err.output, await fallBack(chosen))
    }
    return { python }
  } catch (err) {
    if (err instanceof PythonError) return { missing: err.message }
    throw err
  }

  function make(withLocks, chosen, isSoon = false) {
    return install({
      root,
      what,
      folders: [environment],
      mode,
      digest: (filled) => digest(filled, chosen, withLocks),
      fill: (wanted, place) => fill(wanted, place, withLocks, isSoon),
    })
  }

  /** The digest of the locks and of the interpreter's path; undefined if another interpreter was chosen. Starts no Python. */
  function digest(filled, chosen, withLocks) {
    const interpreter = realPath(join(filled, 'bin/python'))
    if (chosen !== undefined && interpreter !== chosen) return undefined
    return fingerprint([...Object.values(locks), ...withLocks], interpreter)
  }

  /**
   * Keeps the environment that worked before. If it lacks packages, for example after an update of Toolrack, makes it again with the
   * earlier copy of `added`, or without it. Resolves to true if the environment has the packages of this earlier copy.
   */
  async function fallBack(chosen) {
    if (hasWorked(chosen)) return existsSync(copy)
    try {
      if (!existsSync(copy)) return await make([], chosen).then(() => false)
      return await make([copy], chosen).then(() => true)
    } catch (err) {
      if (!(err instanceof PackagesError) || !existsSync(copy)) throw err
      return make([], chosen).then(() => false)
    }
  }

  /** Whether the environment has all packages that the runner needs, and those of the earlier copy of `added`, if there is one. */
  function hasWorked(chosen) {
    const stamp = readStamp(environment)
    const wanted = digest(environment, chosen, existsSync(copy) ? [copy] : [])
    return stamp.digest !== undefined && stamp.digest === wanted && [mode, 'full'].includes(stamp.mode)
  }

  async function fill(wanted, place, withLocks, isSoon) {
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
    const files = [locks[wanted], ...withLocks].flatMap((lock) => ['-r', lock])
    const source = pipSource()
    const flags = [...pipFlags, ...(isSoon ? soonFlags : []), ...source.options]
    await runInstaller({
      what,
      command: [join(filled, 'bin/python'), '-I', '-m', 'pip', 'install', ...flags, ...files],
      env: { ...process.env, ...source.variables, ...intoEnvironment },
      failed: (output) =>
        new PackagesError(
          `Could not install ${what}: pip has said why. Run the command again where pip reaches its registry.`,
          output,
        ),
    })
    for (const lock of withLocks) cpSync(lock, join(filled, copyName))
    relocate(filled, environment)
  }

  function warn(output, isKept) {
    // Without a network, pip reports that the first package has no such version. So its line in the lock is not at fault.
    const isOffline = /^WARNING: Retrying /m.test(output)
    const line = isOffline ? undefined : lineNamedBy(output, added)
    const place = line ? `, line ${line.number} (${line.text}),` : ''
    const now = isKept
      ? 'The packages from before are used'
      : 'The Python runner has only its own packages, so modules that import others are refused'
    process.stderr.write(
      `WARNING: ${relative(root, added)}${place} cannot be installed. ${now}. ${cureFor(isOffline, line)}, then start again.\n`,
    )
  }
}

function cureFor(isOffline, line) {
  if (isOffline) return 'pip does not reach its registry: connect this machine'
  if (line) return 'Correct this line, and make the lock again (docs/how-to/run.md)'
  return 'pip has said why: correct the file (docs/how-to/run.md)'
}

/** Writes the final path into the programs and settings of an environment that was made elsewhere. */
function relocate(filled, environment) {
  const programs = readdirSync(join(filled, 'bin')).map((name) => join(filled, 'bin', name))
  // Some programs are binary files. With latin1, reading and writing changes no byte.
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
