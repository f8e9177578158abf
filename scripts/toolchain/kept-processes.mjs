import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** The variable by which a process is known to belong to a keeper; whatever it starts inherits it. */
export const marker = 'KEPT_BY'

/**
 * Kills every process that carries the mark, however it was started: firebase-tools puts the Firestore emulator into a
 * session of its own, where neither a process group nor a parent leads to it once firebase-tools has gone.
 */
export function killKept(mark) {
  for (const pid of processesWith(`${marker}=${mark}`)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch (err) {
      if (err.code !== 'ESRCH') throw err
    }
  }
}

/** The processes that have `NAME=value` in their environment, this one aside. */
export function processesWith(setting) {
  const found = process.platform === 'linux' ? onLinux(setting) : elsewhere(setting)
  return found.filter((pid) => pid !== process.pid)
}

function onLinux(setting) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => environmentOf(pid).split('\0').includes(setting)).map(Number)
}

/** Empty for a process that has ended or is somebody else's. */
function environmentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

/** macOS and the BSDs show the environment of one's own processes behind their command. */
function elsewhere(setting) {
  const { stdout } = spawnSync('ps', ['-Axwwe', '-o', 'pid=,command='], { encoding: 'utf8' })
  const lines = (stdout ?? '').split('\n').filter((line) => line.includes(setting))
  return lines.map((line) => Number.parseInt(line, 10))
}
