import type { ErrorCode } from '@toolrack/contract'
import { quantileMs } from './durations.ts'
import { byCalls, type ToolCount, type ToolCounts } from './tool-count.ts'

/** How often a tool was called, and how well. */
export type ToolStatistics = {
  readonly name: string
  /** The calls that have run the tool. */
  readonly calls: number
  /** The calls that ended before the tool ran. */
  readonly refused: number
  /** The part of `calls` that succeeded, from 0 to 1. Null without calls. */
  readonly successRate: number | null
  /** The median and the 95th percentile of the durations of `calls`, in milliseconds. They differ by less than 10 % from the true ones. */
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  /** The last call that failed or was refused. `at` is when it arrived. */
  readonly lastError: { readonly code: ErrorCode; readonly at: string } | null
  readonly lastUsed: string | null
  /** How often the tool was in a list, and the tokens of its definition in all these lists together. */
  readonly lists: number
  readonly definitionTokens: number
  /** The state of the tool's circuit breaker for the user. Null if it is not known. */
  readonly circuit: CircuitState | null
}

export const CIRCUIT_STATES = ['closed', 'open', 'half-open'] as const
export type CircuitState = (typeof CIRCUIT_STATES)[number]

/** The statistics of tools, those with the most calls first. */
export function toolStatistics(
  tools: ToolCounts,
  circuitOf: (name: string) => CircuitState | null,
): readonly ToolStatistics[] {
  return [...tools].toSorted(byCalls).map(([name, count]) => statisticsOf(name, count, circuitOf(name)))
}

function statisticsOf(name: string, count: ToolCount, circuit: CircuitState | null): ToolStatistics {
  const { calls, refused, failures, durations, lastError, lastUsedMs, lists, tokens } = count
  return {
    name,
    calls,
    refused,
    successRate: calls === 0 ? null : Number(((calls - failures) / calls).toFixed(4)),
    p50Ms: quantileMs(durations, 0.5),
    p95Ms: quantileMs(durations, 0.95),
    lastError: lastError && { code: lastError.code, at: new Date(lastError.atMs).toISOString() },
    lastUsed: lastUsedMs === null ? null : new Date(lastUsedMs).toISOString(),
    lists,
    definitionTokens: tokens,
    circuit,
  }
}
