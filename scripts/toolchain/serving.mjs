import { resolve } from 'node:path'
import { processesWith } from './kept-processes.mjs'
import { SetupError } from './setup-error.mjs'

/** Marks the processes of a server with its checkout. The processes that they start inherit the mark. */
const mark = 'SERVES_CHECKOUT'

/** The environment variable by which a server of this checkout is found. */
export function servingEnvironment(root) {
  return { [mark]: resolve(root) }
}

/** Throws if a server of this checkout runs. A server loads some files late, such as a package that only some calls need. */
export function refuseWhileServing(root, what) {
  const pids = processesWith(`${mark}=${resolve(root)}`)
  if (pids.length === 0) return
  // The oldest one is the server, the others are its children.
  const pid = Math.min(...pids)
  throw new SetupError(
    `A server of this checkout runs (process ${pid}), and ${what} cannot be replaced beneath it: stop the server, then run this again.`,
  )
}
