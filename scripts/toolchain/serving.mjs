import { resolve } from 'node:path'
import { processesWith } from './kept-processes.mjs'
import { SetupError } from './setup-error.mjs'

/** The environment variable that marks the processes of a server with its checkout. Processes that they start inherit it. */
const mark = 'SERVES_CHECKOUT'

/**
 * The options of Node for a server. Without a limit, V8 lets the space for new objects grow to 134 MB, and does not give it back. 16 MB
 * for each half cost no measurable processor time, even during writes of hundreds of definitions. The container's command in
 * functions/Dockerfile has the same option.
 */
export const servingOptions = ['--max-semi-space-size=16']

/** The environment for a server of this checkout, by which `refuseWhileServing` finds the server. */
export function servingEnvironment(root) {
  return { [mark]: resolve(root) }
}

/** Throws if a server of this checkout runs, because a server loads some files late, for example packages that few calls need. */
export function refuseWhileServing(root, what) {
  const pids = processesWith(`${mark}=${resolve(root)}`)
  if (pids.length === 0) return
  // The server has the lowest id. The other processes are its children.
  const pid = Math.min(...pids)
  throw new SetupError(
    `A server of this checkout runs (process ${pid}), and ${what} cannot be replaced beneath it: stop the server, then run this again.`,
  )
}
