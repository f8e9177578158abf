import { setTimeout as pause } from 'node:timers/promises'

/** Waits for a condition that no event announces; the test's own time limit is the only one. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(10)
}
