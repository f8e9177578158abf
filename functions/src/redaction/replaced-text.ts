/** Replaces parts of a text, from its start to its end. */
export class ReplacedText {
  readonly #text: string
  readonly #pieces: string[] = []
  #from = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Replaces a part of the text by `by`. Returns the part as it was. */
  put(from: number, to: number, by: string): string {
    this.#pieces.push(this.#text.slice(this.#from, from), by)
    this.#from = to
    return this.#text.slice(from, to)
  }

  end(): string {
    return this.#pieces.join('') + this.#text.slice(this.#from)
  }
}
