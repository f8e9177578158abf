/** A limit of calls that run at the same time. */
export type PlaceLimit = { readonly key: string; readonly places: number }

/**
 * Counts the calls that run. A call that another call makes does not take a second place of the same limit: the first call only
 * waits for it.
 */
export class Places {
  readonly #running = new Map<string, number>()
  /** The keys of the places that a running call and the calls that made it have, by the id of the call. */
  readonly #heldBy = new Map<string, ReadonlySet<string>>()

  /** How many calls run under this key. */
  running(key: string): number {
    return this.#running.get(key) ?? 0
  }

  /** The limits of which the call needs one more place: those of which its parent has none. */
  needed<Limit extends PlaceLimit>(limits: readonly Limit[], parentId: string | null): readonly Limit[] {
    const held = parentId === null ? undefined : this.#heldBy.get(parentId)
    return held ? limits.filter(({ key }) => !held.has(key)) : limits
  }

  /** Takes one place of each limit for a call. The result gives them back, and must be called once. */
  take(limits: readonly PlaceLimit[], callId: string, parentId: string | null): () => void {
    for (const { key } of limits) this.#running.set(key, this.running(key) + 1)
    const ofParent = parentId === null ? [] : (this.#heldBy.get(parentId) ?? [])
    this.#heldBy.set(callId, new Set([...ofParent, ...limits.map(({ key }) => key)]))
    return () => {
      this.#heldBy.delete(callId)
      for (const { key } of limits) {
        const left = this.running(key) - 1
        if (left > 0) this.#running.set(key, left)
        else this.#running.delete(key)
      }
    }
  }
}
