import { readFileSync } from 'node:fs'

/** Descriptors that are kept for the stores, the files and the runner. */
const KEPT = 256
const CONNECTIONS_MAX = 10_000

/** How many connections the server may have: what the process's soft limit of descriptors leaves, and 10,000 at most. */
export function connectionsMax(limitsText = readLimits()): number {
  const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(limitsText) ?? []
  const descriptors = soft === undefined || soft === 'unlimited' ? Infinity : Number(soft)
  return Math.min(CONNECTIONS_MAX, Math.max(Math.ceil(descriptors / 2), descriptors - KEPT))
}

/** Empty where the system has no such file. */
function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
