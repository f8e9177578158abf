import { readFileSync } from 'node:fs'

/** For how many milliseconds this thread has used a processor. The time in which other programs used it is not included. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/**
 * For how many milliseconds the main thread could run, but had to wait because other programs used all processors. Only Linux
 * counts this. On other systems it is 0.
 */
export function waitedMs(): number {
  try {
    const [, waitedNs] = readFileSync('/proc/self/schedstat', 'latin1').split(' ')
    return Number(waitedNs) / 1_000_000
  } catch {
    return 0
  }
}
