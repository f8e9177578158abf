import { randomUUID } from 'node:crypto'
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const pollMs = 100
const heartbeatMs = 2_000
const silenceMaxMs = 20_000

/**
 * One install at a time per checkout. The lock is a file that names the processes at work and whose time is renewed
 * while its owner lives. It is stale when all of those processes are gone, or when it was not renewed while we watched
 * for `silenceMaxMs` (another machine's, or a process number used again). Our own watching is what counts, not the
 * file's age: a laptop that slept, or a file server whose clock is off, must not cost a live owner its lock.
 */
export async function withInstallLock(path, action, options = {}) {
  const owner = { token: randomUUID(), host: hostname(), pids: [process.pid] }
  await acquire(path, owner, options)
  const heartbeat = setInterval(renew, heartbeatMs, path).unref()
  try {
    return await action({ alsoHeldBy: (pid) => nameHolder(path, owner, pid) })
  } finally {
    clearInterval(heartbeat)
    if (readLock(path)?.text.includes(owner.token)) rmSync(path, { force: true })
  }
}

async function acquire(path, owner, { onWait = () => {}, silenceMaxMs: limitMs = silenceMaxMs }) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let seen = {}
  while (!create(path, owner)) {
    const lock = readLock(path)
    if (lock === undefined) continue
    if (lock.version !== seen.version)
      seen = { version: lock.version, sinceMs: performance.now(), told: seen.told }
    if (ownersAreGone(lock.text) || performance.now() - seen.sinceMs > limitMs) {
      evict(path, lock.text)
      continue
    }
    if (!seen.told) onWait()
    seen.told = true
    await pause(pollMs)
  }
}

function create(path, owner) {
  try {
    writeFileSync(path, JSON.stringify(owner), { flag: 'wx' })
    return true
  } catch (err) {
    if (err.code === 'EEXIST') return false
    throw err
  }
}

function readLock(path) {
  try {
    const text = readFileSync(path, 'utf8')
    return { text, version: `${statSync(path).mtimeMs} ${text}` }
  } catch (err) {
    if (err.code === 'ENOENT') return undefined
    throw err
  }
}

/** A child goes on writing when its parent is killed, so its number is kept in the lock as well. */
function nameHolder(path, owner, pid) {
  owner.pids.push(pid)
  writeFileSync(path, JSON.stringify(owner))
}

function ownersAreGone(text) {
  try {
    const { host, pids } = JSON.parse(text)
    return host === hostname() && !pids.some(isAlive)
  } catch {
    return false // being written this very moment
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (err) {
    return err.code === 'EPERM'
  }
}

/** Moves a stale lock aside. Two may try at once: who finds a fresh lock in their hand puts it back. */
function evict(path, staleText) {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
    if (readFileSync(aside, 'utf8') !== staleText) linkSync(aside, path)
  } catch (err) {
    if (err.code !== 'ENOENT' && err.code !== 'EEXIST') throw err
  }
  rmSync(aside, { force: true })
}

function renew(path) {
  try {
    utimesSync(path, new Date(), new Date())
  } catch (err) {
    if (err.code !== 'ENOENT') throw err
  }
}
