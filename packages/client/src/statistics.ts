import { JsonService, type JsonServiceOptions } from './json-service.ts'

/** How one tool has worked within a window. Times are ISO 8601, UTC. */
export type ToolStatistics = {
  readonly name: string
  /** The calls that have run the tool. */
  readonly calls: number
  /** The calls that ended before the tool ran. */
  readonly refused: number
  /** The part of `calls` that succeeded, from 0 to 1. Null without calls. */
  readonly successRate: number | null
  /** The median and the 95th percentile of the durations of `calls`, in milliseconds. Null without calls. */
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly lastError: { readonly code: string; readonly at: string } | null
  readonly lastUsed: string | null
  /** How often the tool was in a list, and the tokens of its definition in all these lists together. */
  readonly lists: number
  readonly definitionTokens: number
  /** `open` while the tool is not called because it has failed. Null in the statistics of others. */
  readonly circuit: 'closed' | 'open' | 'half-open' | null
}

export type ToolsStatistics = {
  readonly window: 'hour' | 'day'
  /** The calls since this time are counted. */
  readonly from: string
  /** Since when counts may be missing, because a store has failed. Null: none. */
  readonly incompleteSince: string | null
  /** Those with the most calls first. */
  readonly tools: readonly ToolStatistics[]
}

export type AskedStatistics = {
  /** The default is `day`. */
  readonly window?: 'hour' | 'day' | undefined
  /** Only the tool of this name. */
  readonly name?: string | undefined
  /** The user whose calls are counted. Only an admin may name another user. */
  readonly uid?: string | undefined
}

export type StatisticsOptions = JsonServiceOptions

/**
 * Reads how tools have worked. The method rejects with OPTION_INVALID, TOKEN_FAILED, SERVICE_REFUSED or SERVICE_UNAVAILABLE.
 */
export class Statistics {
  readonly #service: JsonService

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor(options: StatisticsOptions) {
    this.#service = new JsonService(options)
  }

  tools({ window = 'day', name, uid }: AskedStatistics = {}): Promise<ToolsStatistics> {
    const query = new URLSearchParams({ window })
    if (name !== undefined) query.set('name', name)
    if (uid !== undefined) query.set('uid', uid)
    return this.#service.ask('GET', `stats?${query.toString()}`)
  }
}
