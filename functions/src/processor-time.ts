import { readFileSync } from 'node:fs'

/**
 * The milliseconds for which this thread has used a processor. Unlike the time of a clock, this does not include other programs.
 */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/**
 * The milliseconds for which the main thread had to wait because other programs used all processors. Linux counts them; elsewhere this
 * is 0.
 */
export function waitedMs(): number {
  try {
    const [, waitedNs] = readFileSync('/proc/self/schedstat', 'latin1').split(' ')
    return Number(waitedNs) / 1_000_000
  } catch {
    return 0
  }
}
