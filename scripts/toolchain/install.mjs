import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { exitCodeOf, quiet, runChild, signals } from './child.mjs'
import { addPackages, replacePackages, restorePackages, stampName } from './package-folders.mjs'
import { refuseWhileServing } from './serving.mjs'
import { SetupError } from './setup-error.mjs'

/**
 * Fills `folders` with packages, unless a stamp file in the first folder shows that they are installed. The stamp is one line with a
 * digest and the mode of the install. `digest` computes the digest from the path of the first folder. A folder with the mode `full`
 * also has all packages of `runtime`, and keeps its mode.
 *
 * `fill(mode, place)` installs into a copy of the checkout's tree at `place`. The folders change only when `fill` has
 * succeeded, so an install that fails or is interrupted leaves the old state. If the stamp has the same digest, the install
 * only adds packages. Nothing in the folders moves, so a running server can go on. Otherwise the folders are replaced, which is
 * refused while a server of this checkout runs.
 */
export async function install({ root, what, folders, digest, mode, fill }) {
  const [folder] = folders
  if (isDone()) return
  await withLock(join(root, '.toolrack/install.lock'), what, async () => {
    const work = join(root, '.toolrack/install')
    const done = join(root, '.toolrack/install.done')
    const place = join(work, 'new')
    // The folder with the stamp comes last.
    const pairs = folders.toReversed().map((each) => {
      const path = relative(root, each)
      return { folder: each, filled: join(place, path), old: join(work, 'old', path) }
    })
    // If a replacement was killed, the only copy of the old packages is in `old`.
    restorePackages(pairs)
    clear()
    if (isDone()) return
    refuseReplacement()
    process.stderr.write(`Installing ${what} ...\n`)
    const wanted = readStamp(folder).mode === 'full' ? 'full' : mode
    try {
      const { filled } = pairs.at(-1)
      mkdirSync(place, { recursive: true, mode: 0o700 })
      await fill(wanted, place)
      writeStamp(filled, digest(filled), wanted)
      // A server may have been started in the meantime.
      refuseReplacement()
      if (isCurrent()) pairs.forEach(addPackages)
      else replacePackages(pairs)
      // From here on, no old package is moved back.
      renameSync(work, done)
    } finally {
      // Comes before `clear`, which removes the old packages. If this throws, they stay in `old` for the next install.
      restorePackages(pairs)
      clear()
    }

    function clear() {
      for (const path of [work, done]) rmSync(path, { recursive: true, force: true })
    }
  })

  function isDone() {
    return isCurrent() && [mode, 'full'].includes(readStamp(folder).mode)
  }

  function isCurrent() {
    const stamp = readStamp(folder)
    return stamp.digest !== undefined && stamp.digest === digest(folder)
  }

  function refuseReplacement() {
    if (!isCurrent() && folders.some((each) => existsSync(each))) refuseWhileServing(root, what)
  }
}

/**
 * A digest of these files, the machine's platform, and `facts`.
 * @param {readonly string[]} paths
 * @param {string[]} facts
 */
export function fingerprint(paths, ...facts) {
  const hash = createHash('sha256').update([process.platform, process.arch, ...facts].join('-'))
  for (const path of paths) hash.update('\0').update(existsSync(path) ? readFileSync(path, 'utf8') : '')
  return hash.digest('hex')
}

/**
 * @param {string} folder
 * @param {string} digest
 * @param {'full' | 'runtime'} mode
 */
export function writeStamp(folder, digest, mode = 'full') {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, stampName), `${digest} ${mode}\n`)
}

/** The digest and the mode of the packages in a folder; both are undefined if there is no stamp. */
export function readStamp(folder) {
  const path = join(folder, stampName)
  const [digest, mode] = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split(' ') : []
  return { digest, mode }
}

/** Runs npm, pip or venv. If the program fails, shows its output and throws the error that `failed` makes of it. */
export async function runInstaller({ what, command: [program, ...args], failed, ...options }) {
  const running = runChild(program, args, { ...options, ...quiet })
  const { code, interruptedBy, output } = await running.catch((err) => {
    throw err.code === 'ENOENT'
      ? new SetupError(`${program} was not found: install it, then run this again.`)
      : err
  })
  if (interruptedBy) throw new SetupError(`Stopped while installing ${what}.`, exitCodeOf(interruptedBy))
  if (code === 0) return
  process.stderr.write(output)
  throw failed(output)
}

/**
 * Runs `action` under a lock, because two commands may start at once. The lock is a file with the installing process's id.
 * After a signal, this process first ends or undoes the install and removes the lock.
 */
async function withLock(path, what, action) {
  let interruptedBy
  const hold = (signal) => (interruptedBy ??= signal)
  const endIfInterrupted = () => {
    if (interruptedBy) throw new SetupError(`Stopped while installing ${what}.`, exitCodeOf(interruptedBy))
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  for (const signal of signals) process.on(signal, hold)
  try {
    for (let waits = 0; !take(path); waits += 1) {
      const owner = existsSync(path) ? Number(readFileSync(path, 'utf8')) : process.pid
      if (!isAlive(owner))
        throw new SetupError(
          `An install in this checkout was killed. Make sure that its npm or pip has ended, delete ${path}, and run this again.`,
        )
      if (waits === 0)
        process.stderr.write(
          `Waiting for the install of process ${owner} to finish (its lock is ${path}) ...\n`,
        )
      await pause(100)
      endIfInterrupted()
    }
    try {
      await action()
    } finally {
      rmSync(path, { force: true })
    }
    // Node reads signals once in each turn of its event loop. The current turn may have begun before the signal.
    await turn()
    await turn()
    endIfInterrupted()
  } finally {
    for (const signal of signals) process.off(signal, hold)
  }
}

function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (err) {
    if (err.code === 'EEXIST') return false
    throw err
  }
}

/** True if the process exists. Also true for 0, the id in an empty lock file, whose owner is about to write its own id. */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (err) {
    return err.code === 'EPERM'
  }
}
