import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** The environment variable that marks the processes of a keeper. The processes that they start inherit it. */
export const marker = 'KEPT_BY'

/**
 * Kills every process with this mark. The Firestore emulator cannot be found by its group or parent, because firebase-tools starts it
 * in its own session.
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

/**
 * The ids of all other processes with `NAME=value` in their environment. None on Windows, which does not show environments.
 * @param {string} setting
 */
export function processesWith(setting) {
  const pids = process.platform === 'linux' ? pidsOnLinux(setting) : pidsFromPs(setting)
  return pids.filter((pid) => pid !== process.pid)
}

function pidsOnLinux(setting) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => environmentOf(pid).split('\0').includes(setting)).map(Number)
}

/** The environment of a process; empty if the process has ended or belongs to another user. */
function environmentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

/** On macOS and the BSDs, `ps` shows the environment of the user's own processes after their command. Windows has no `ps`. */
function pidsFromPs(setting) {
  const options = { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = spawnSync('ps', ['-Axwwe', '-o', 'pid=,command='], options)
  return pidsOfLines(stdout ?? '', setting)
}

/**
 * The ids in the lines of `ps` that contain this setting between spaces.
 * @param {string} text
 * @param {string} setting
 */
export function pidsOfLines(text, setting) {
  const lines = text.split('\n').filter((line) => `${line} `.includes(` ${setting} `))
  return lines.map((line) => Number.parseInt(line, 10))
}
