import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** The environment variable that marks the processes of a keeper. The processes that they start inherit it. */
export const marker = 'KEPT_BY'

/** Kills every process with this mark. No group or parent leads to the Firestore emulator: firebase-tools starts it in its own session. */
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
 * The processes that have `NAME=value` in their environment, without this one. None on Windows, which does not show it.
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

/**
 * macOS and the BSDs show the environment of the user's own processes after their command. Windows has no program that
 * shows it, so no process is found there.
 */
function pidsFromPs(setting) {
  const options = { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = spawnSync('ps', ['-Axwwe', '-o', 'pid=,command='], options)
  return pidsOfLines(stdout ?? '', setting)
}

/**
 * The processes in the output of ps whose line has this setting as a whole.
 * @param {string} text
 * @param {string} setting
 */
export function pidsOfLines(text, setting) {
  const lines = text.split('\n').filter((line) => `${line} `.includes(` ${setting} `))
  return lines.map((line) => Number.parseInt(line, 10))
}
