import { setTimeout as pause } from 'node:timers/promises'

/** With PAUSE_MS this is 45 s at least, which is less than the time that jest gives a test. */
const TRIES_MAX = 2_250
const PAUSE_MS = 20

/** Asks again until the answer is the wanted one, for a state that no event announces. Throws after 45 s. */
export async function until<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const answer = await ask()
    if (isWanted(answer)) return answer
    if (tries === TRIES_MAX)
      throw new Error(`not seen in ${TRIES_MAX} tries; the last: ${JSON.stringify(answer)}`)
    await pause(PAUSE_MS)
  }
}
