import { setTimeout as pause } from 'node:timers/promises'
import { runWithNode } from './checkout.mjs'

/**
 * The pause before each new start, by the number of deaths in a row. A start takes half a second, or two seconds on a
 * busy machine, so the service is back within three seconds even after the longest pause. All pauses together last 6.5 s,
 * which is enough for a short lack of memory to pass.
 */
const PAUSES_MS = [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000]

/** If the service was ready for this long, its earlier deaths no longer count. */
const HEALTHY_MS = 10_000

/** `EXIT.crashLoop` of functions/src/hosts/local/start-error.ts. The machine's own Node may be too old to import that file. */
export const crashLoopCode = 70

/**
 * Runs the service, with `args` for Node, and starts it again with the same port whenever it has died. Resolves to an
 * exit code in these cases:
 * - `signal` is aborted. The signals that reach this process reach the service too.
 * - The service ends with code 0.
 * - The service ends with another code before it was ever ready. A new start would fail again.
 * - The service dies ten times in a row, and was never ready for ten seconds.
 *
 * The service gets a pipe on descriptor 3. It writes its address there when it is ready. The pipe closes when this
 * process ends, even by SIGKILL, and then the service ends too.
 */
export async function supervise(node, args, { signal, env = process.env, pausesMs = PAUSES_MS }) {
  let port
  let deaths = 0
  for (;;) {
    const life =
      port === undefined
        ? await live(node, args, env)
        : await live(node, [...args, '--restarted'], { ...env, PORT: port })
    port ??= life.port
    if (signal.aborted) return life.endedBy === life.interruptedBy ? 0 : life.code
    if (life.endedBy === null && (life.code === 0 || port === undefined)) return life.code
    deaths = life.healthMs < HEALTHY_MS ? deaths + 1 : 1
    const how = life.endedBy ? `was ended by ${life.endedBy}` : `has ended with exit code ${life.code}`
    const pauseMs = pausesMs[deaths - 1]
    if (pauseMs === undefined) {
      process.stderr.write(
        `The service has died ${deaths} times in a row and is not started again; the last time it ${how}. ` +
          'Correct what the lines above name, then run npm start again.\n',
      )
      return crashLoopCode
    }
    process.stderr.write(`The service ${how}; it is being started again.\n`)
    await pause(pauseMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return 0
  }
}

/** Runs the service once. Resolves to how it ended, its port, and how long it was ready. */
async function live(node, args, env) {
  let port
  let readyAtMs
  function onSpawn(child) {
    const pipe = child.stdio[3]
    let text = ''
    pipe.setEncoding('utf8').on('error', () => {})
    pipe.on('data', (piece) => {
      text += piece
      if (!text.endsWith('\n')) return
      readyAtMs = performance.now()
      port = new URL(text.trim()).port || '80'
    })
    // The service's children may have inherited the pipe, so the pipe may stay open after the service has ended.
    child.once('exit', () => pipe.destroy())
  }
  const stdio = ['inherit', 'inherit', 'inherit', 'pipe']
  const end = await runWithNode(node, args, { env, stdio, onSpawn })
  return { ...end, port, healthMs: readyAtMs === undefined ? 0 : performance.now() - readyAtMs }
}
