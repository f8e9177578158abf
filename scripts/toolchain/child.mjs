import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { delimiter, dirname } from 'node:path'

const isWindows = process.platform === 'win32'
/** The signals by which a user or a supervisor ends a command. */
export const signals = isWindows ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
/** The time within which a second signal of the same kind is ignored. */
const echoMs = 1_000

/** Options of `runChild` for a child whose output is collected and not shown. */
export const quiet = { stdio: ['ignore', 'pipe', 'pipe'] }

/**
 * Runs a child to its end. Resolves to an object with these fields:
 * - `code`, the exit code of the child
 * - `endedBy`, the signal that ended the child, or null
 * - `interruptedBy`, the signal that asked this process to stop, or undefined
 * - `output`, the output of the child that was not shown
 *
 * The child has a session of its own, so a Ctrl-C in the terminal reaches the child only through this process. The terminal
 * sends a Ctrl-C to this process, and npm sends it again. So a signal that comes again within a second is not passed on
 * to the child. This process never ends before the child does.
 */
export async function runChild(command, args, { onSpawn, ...options } = {}) {
  const child = spawn(command, args, {
    stdio: 'inherit',
    detached: !isWindows,
    windowsHide: true,
    shell: isWindows && command === 'npm',
    ...options,
  })
  const forwardedMs = new Map()
  let interruptedBy
  let output = ''

  function forward(signal) {
    interruptedBy = signal
    const nowMs = performance.now()
    const isEcho = nowMs - (forwardedMs.get(signal) ?? -Infinity) < echoMs
    forwardedMs.set(signal, nowMs)
    // On Windows the console sends Ctrl-C to every process, and kill() would end the child at once.
    if (!isEcho && !(isWindows && signal === 'SIGINT')) child.kill(signal)
  }

  for (const signal of signals) process.on(signal, forward)
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => (output += text))
  const closed = once(child, 'close')
  try {
    if (child.pid !== undefined) onSpawn?.(child)
    const [code, signal] = await closed
    return { code: code ?? exitCodeOf(signal), endedBy: signal, interruptedBy, output }
  } finally {
    for (const signal of signals) process.off(signal, forward)
  }
}

/** An AbortSignal that is aborted when this process has to stop. The listeners stay, because under npm a Ctrl-C arrives twice. */
export function stopSignal() {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop.abort())
  return stop.signal
}

/** The exit code that a shell reports for a process that a signal ended. */
export function exitCodeOf(signal) {
  return 128 + constants.signals[signal]
}

/** The folders on PATH. */
export function pathFolders(env) {
  return (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '')
}

/**
 * The environment with the folder of this program first on PATH.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} program
 * @returns {NodeJS.ProcessEnv}
 */
export function withFirstOnPath(env, program) {
  const key = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'
  return { ...env, [key]: [dirname(program), env[key]].filter(Boolean).join(delimiter) }
}
