import { setTimeout as pause } from 'node:timers/promises'

const TRIES_MAX = 500
const PAUSE_MS = 20

/** Asks again until the answer is the wanted one, for a state that no event announces. Throws after 500 tries. */
export async function until<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const answer = await ask()
    if (isWanted(answer)) return answer
    if (tries === TRIES_MAX)
      throw new Error(`not seen in ${TRIES_MAX} tries; the last: ${JSON.stringify(answer)}`)
    await pause(PAUSE_MS)
  }
}
