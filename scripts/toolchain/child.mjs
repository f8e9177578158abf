import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { delimiter, dirname } from 'node:path'

const isWindows = process.platform === 'win32'
const signals = isWindows ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
const onePressMs = 1_000

/**
 * Runs a child to its end; resolves to its exit code, the signal that ended it, which is null where none did, and the
 * signal that asked us to stop, if one did.
 *
 * The child sits in a session of its own, so a Ctrl-C in the terminal reaches it only through us. One key press
 * reaches us twice under `npm start` (from the terminal, and passed on by npm): the echo is dropped, so the child sees
 * one SIGINT per press and a second press still is a second SIGINT. We never leave before the child does.
 */
export function runChild(command, args, { onSpawn, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: 'inherit',
      detached: !isWindows,
      windowsHide: true,
      ...options,
    })
    const forwardedMs = new Map()
    let interruptedBy

    function forward(signal) {
      interruptedBy = signal
      const nowMs = performance.now()
      const isEcho = nowMs - (forwardedMs.get(signal) ?? -Infinity) < onePressMs
      forwardedMs.set(signal, nowMs)
      // On Windows the console itself tells every process of it, and kill() would end the child without a word.
      if (!isEcho && !(isWindows && signal === 'SIGINT')) child.kill(signal)
    }

    function stopListening() {
      for (const signal of signals) process.off(signal, forward)
    }

    for (const signal of signals) process.on(signal, forward)
    child.once('error', (err) => {
      stopListening()
      reject(err)
    })
    child.once('close', (code, signal) => {
      stopListening()
      resolve({ code: code ?? exitCodeOf(signal), endedBy: signal, interruptedBy })
    })
    if (child.pid !== undefined) onSpawn?.(child)
  })
}

/** What a shell reports for a process that a signal ended. */
export function exitCodeOf(signal) {
  return 128 + constants.signals[signal]
}

/** The environment in which `node` is this Node, for whatever a child starts by name. */
export function withFirstOnPath(env, node) {
  const key = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'
  return { ...env, [key]: [dirname(node), env[key]].filter(Boolean).join(delimiter) }
}
