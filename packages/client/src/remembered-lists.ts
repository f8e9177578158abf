import type { ListAnswer } from './read-list.ts'

/** How many questions' answers are kept. */
const LISTS_MAX = 100

/** The last good answer to each question; the question that was asked least lately is forgotten first. */
export class RememberedLists {
  readonly #lists = new Map<string, ListAnswer>()

  get(key: string): ListAnswer | undefined {
    const list = this.#lists.get(key)
    if (list) {
      this.#lists.delete(key)
      this.#lists.set(key, list)
    }
    return list
  }

  /** An answer in which a layer is missing does not take the place of a whole one. */
  keep(key: string, list: ListAnswer): void {
    if (list.isPartial && this.#lists.get(key)?.isPartial === false) return
    this.#lists.set(key, list)
    const [oldest] = this.#lists.keys()
    if (this.#lists.size > LISTS_MAX && oldest !== undefined) this.#lists.delete(oldest)
  }
}
