import { LRUCache } from 'lru-cache'
import { hash } from 'node:crypto'
import type { Identified, Identify } from './identify.ts'

/** For how long a verified token is trusted without another look, in milliseconds, and how many of them are (design, section 7). */
export const REMEMBERED_MS = 5 * 60 * 1_000
export const REMEMBERED_MAX = 10_000

/** Spares tokens that were verified before their verification, by their SHA-256. What was refused is looked at again. */
export class RememberedTokens {
  readonly #known = new LRUCache<string, Identified>({ max: REMEMBERED_MAX })
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#known.size
  }

  /** At once where the token is known. `door` is what it was shown to: one that opens one door is not known at another. */
  identify(
    door: string,
    token: string,
    identify: Identify,
  ): Identified['identity'] | Promise<Identified['identity']> {
    const key = `${door} ${hash('sha256', token, 'base64url')}`
    const known = this.#known.get(key)
    if (known && this.#now() < known.endsAt) return known.identity
    if (known) this.#known.delete(key)
    return identify(token).then(({ identity, endsAt }) => {
      this.#known.set(key, { identity, endsAt: Math.min(endsAt, this.#now() + REMEMBERED_MS) })
      return identity
    })
  }
}
