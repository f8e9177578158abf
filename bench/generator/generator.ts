import { findWrk } from './wrk.ts'
import { autocannon } from './autocannon.ts'

/** What is asked, by how many connections, for how long. */
export type Load = {
  readonly url: string
  /** Asked one after the other, again and again. */
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** Sent by POST; without one the requests are GETs. */
  readonly body?: string
  readonly connections: number
  readonly seconds: number
}

export type LoadResult = {
  readonly requestsPerSecond: number
  readonly p50Us: number
  readonly p99Us: number
}

/** Asks as fast as it is answered. Rejects when a request fails: then nothing was measured. */
export type Generator = {
  /** With its version. */
  readonly name: string
  readonly run: (load: Load) => Promise<LoadResult>
}

/** wrk where it is installed. At answers of 400 kB autocannon is itself the limit. */
export function findGenerator(): Generator {
  return findWrk() ?? autocannon
}
