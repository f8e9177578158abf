/**
 * The most calls of one user that wait before a retry. Each keeps its arguments and its connection, for minutes. A caller who
 * works with a few tools at a time never has so many that fail.
 */
export const BACKOFFS_PER_USER_MAX = 16
/** The most such calls of all users: the bytes of sixteen users, so that waiting calls do not take the bodies of other requests. */
export const BACKOFFS_MAX = 256

/** Counts the calls that wait before a retry, because a waiting call keeps its arguments in memory. */
export class Backoffs {
  readonly #of = new Map<string, number>()
  #all = 0

  /** Waits with `wait`, and returns true. Returns false at once if too many calls wait already. */
  async run(user: string, wait: () => Promise<unknown>): Promise<boolean> {
    const own = this.#of.get(user) ?? 0
    if (own >= BACKOFFS_PER_USER_MAX || this.#all >= BACKOFFS_MAX) return false
    this.#of.set(user, own + 1)
    this.#all += 1
    try {
      await wait()
    } finally {
      this.#end(user)
    }
    return true
  }

  #end(user: string): void {
    const left = (this.#of.get(user) ?? 1) - 1
    if (left > 0) this.#of.set(user, left)
    else this.#of.delete(user)
    this.#all -= 1
  }
}
