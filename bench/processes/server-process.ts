import { once } from 'node:events'
import type { Address, Usage } from '../servers/announce.ts'
import { nextMessage, startNodeProcess } from './node-process.ts'
import type { NodeProcessOptions } from './node-process.ts'

export type ServerProcess = Address & {
  /** The time of the server's start, from `performance.now()`. */
  readonly startedMs: number
  readonly pid: number
  readonly usage: () => Promise<Usage>
  readonly stop: () => Promise<void>
}

export type StartServer = (file: string, options?: NodeProcessOptions) => Promise<ServerProcess>

/** Calls `work` with a function that starts servers, each from a file of `servers/`. Stops them when the work ends. */
export async function withServers<T>(work: (start: StartServer) => Promise<T>): Promise<T> {
  const started: ServerProcess[] = []
  try {
    return await work(async (file, options) => {
      const server = await startServer(file, options)
      started.push(server)
      return server
    })
  } finally {
    await Promise.all(started.map((server) => server.stop()))
  }
}

/** Resolves when the server listens. */
async function startServer(file: string, options: NodeProcessOptions = {}): Promise<ServerProcess> {
  const startedMs = performance.now()
  const child = startNodeProcess(`servers/${file}`, options)
  const address = await nextMessage<Address>(child)
  return {
    ...address,
    startedMs,
    pid: child.pid ?? 0,
    usage() {
      child.send('usage')
      return nextMessage<Usage>(child)
    },
    async stop() {
      if (!child.connected) return
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}
