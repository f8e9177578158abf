/** A text of which parts are replaced, from its start to its end. */
export class ReplacedText {
  readonly #text: string
  readonly #pieces: string[] = []
  #from = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Puts a text in place of a part. Returns what was there. */
  put(from: number, to: number, by: string): string {
    this.#pieces.push(this.#text.slice(this.#from, from), by)
    this.#from = to
    return this.#text.slice(from, to)
  }

  end(): string {
    return this.#pieces.join('') + this.#text.slice(this.#from)
  }
}
