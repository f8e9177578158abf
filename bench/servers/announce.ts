import type { Express } from 'express'
import type { AddressInfo } from 'node:net'
import type { Reads } from './count-reads.ts'

/** The endpoint of a server. Only our server needs a token. */
export type Address = { readonly url: string; readonly token?: string }

/** The processor time and memory of a process. Memory is measured after a garbage collection, if the process may start one. */
export type Usage = {
  readonly cpuMs: number
  readonly rssBytes: number
  readonly heapBytes: number
  /** Buffers, which are outside the heap. */
  readonly externalBytes: number
  /** Only from a process that counts its reads. */
  readonly reads?: Reads
}

/** Runs in the server process: sends its address, answers each message with its usage, and ends with the benchmark. */
export function announce(address: Address, reads?: Reads): void {
  process.on('message', () => process.send?.({ ...usage(), ...(reads && { reads }) }))
  process.on('disconnect', () => process.exit(0))
  process.send?.(address)
}

/** Serves a peer's app on a free port. */
export function announceApp(app: Express): void {
  const server = app.listen(0, '127.0.0.1', () => {
    announce({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  })
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  return {
    cpuMs: (user + system) / 1_000,
    rssBytes: rss,
    heapBytes: heapUsed,
    externalBytes: external,
  }
}
