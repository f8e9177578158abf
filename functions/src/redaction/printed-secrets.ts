import { START, type Needles } from '@toolrack/contract'
import { REDACTED } from './redacted.ts'

/**
 * The fewest characters at the end of a part that `cut` removes, if a secret may begin with them. Fewer characters reveal little,
 * and are often there by chance.
 */
export const CUT_MIN = 4

/**
 * Removes known secrets from a text that arrives in parts of any size. Only text that may be the beginning of a secret is held
 * back. The work for a part grows only with its length.
 */
export class PrintedSecrets {
  readonly #needles: Needles
  #state = START
  /** The parts that are held back, and the position in the whole text where they begin. */
  readonly #held = new Fifo<string>()
  #heldFrom = 0
  #end = 0
  /** The secrets in the parts that are held back, in their order. They do not overlap. */
  readonly #found = new Fifo<{ readonly from: number; readonly end: number }>()

  constructor(needles: Needles) {
    this.#needles = needles
  }

  /** Takes the next part. Returns the text that certainly contains no beginning of a secret. Secrets in it are replaced. */
  take(piece: string): string {
    if (this.#needles.count === 0) return piece
    this.#held.push(piece)
    for (let index = 0; index < piece.length; index += 1) {
      this.#state = this.#needles.next(this.#state, piece.charCodeAt(index))
      this.#end += 1
      const needle = this.#needles.endingAt(this.#state)
      if (needle !== -1) this.#find(this.#end - this.#needles.lengthOf(needle))
    }
    const certain = this.#end - this.#needles.open(this.#state)
    const { last } = this.#found
    // A secret is held back too, if it may turn out to be a part of a longer secret.
    return this.#show(last && last.end > certain ? Math.min(certain, last.from) : certain)
  }

  /** Takes a part that is shown at once: what may be the beginning of a secret at its end is removed from it. */
  takeWhole(piece: string): string {
    return this.take(piece) + this.cut()
  }

  /** Ends the text. Returns what was held back. */
  end(): string {
    this.#state = START
    return this.#show(this.#end)
  }

  /**
   * Returns what was held back, but the text goes on: the next part is searched together with the parts before it. The end of the
   * part is removed if it may be the beginning of a secret, because the rest of the secret may be shown with the next part.
   */
  cut(): string {
    const open = this.#needles.count === 0 ? 0 : this.#needles.open(this.#state)
    if (open >= CUT_MIN && this.#end > this.#heldFrom) this.#find(this.#end - open)
    return this.#show(this.#end)
  }

  /** Notes a secret that begins at `from` and ends at the present position. Overlapping secrets become one. */
  #find(from: number): void {
    // What was shown before cannot be removed any more.
    let first = Math.max(from, this.#heldFrom)
    for (let { last } = this.#found; last && last.end > first; { last } = this.#found) {
      first = Math.min(first, last.from)
      this.#found.dropLast()
    }
    this.#found.push({ from: first, end: this.#end })
  }

  #show(end: number): string {
    const shown: string[] = []
    for (let { first } = this.#found; first && first.end <= end; { first } = this.#found) {
      this.#drop(first.from, shown)
      shown.push(REDACTED)
      this.#drop(first.end)
      this.#found.dropFirst()
    }
    this.#drop(end, shown)
    return shown.join('')
  }

  /**
   * Drops the text before the position `end` from the parts that are held back. If `shown` is given, the dropped text is added to
   * it.
   */
  #drop(end: number, shown?: string[]): void {
    for (
      let piece = this.#held.first;
      piece !== undefined && this.#heldFrom < end;
      piece = this.#held.first
    ) {
      const count = Math.min(piece.length, end - this.#heldFrom)
      shown?.push(piece.slice(0, count))
      this.#heldFrom += count
      if (count === piece.length) this.#held.dropFirst()
      else this.#held.first = piece.slice(count)
    }
  }
}

/** A queue. When the first item is dropped, the other items are not moved. */
class Fifo<Item> {
  readonly #items: Item[] = []
  #start = 0

  get first(): Item | undefined {
    return this.#items[this.#start]
  }

  set first(item: Item) {
    this.#items[this.#start] = item
  }

  get last(): Item | undefined {
    return this.#items.length > this.#start ? this.#items.at(-1) : undefined
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  dropFirst(): void {
    this.#start += 1
    if (2 * this.#start < this.#items.length) return
    this.#items.splice(0, this.#start)
    this.#start = 0
  }

  dropLast(): void {
    this.#items.pop()
  }
}
