import { setTimeout as pause } from 'node:timers/promises'

/** Waits for a condition that has no event. The test's own time limit applies. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(10)
}
