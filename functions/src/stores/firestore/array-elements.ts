const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** The most bytes of one object. Even the JSON of the largest possible document in Firestore is smaller. */
const ELEMENT_BYTES_MAX = 16 * 1024 * 1024

/**
 * Reads the objects of a JSON array while its text arrives. Keeps the text of only one object at a time, because the text of an
 * answer with 100,000 documents may be longer than a string can be.
 */
export class ArrayElements {
  #depth = 0
  #isInString = false
  #isEscaped = false
  /** The parts of an object that has not arrived completely. */
  #begun: Buffer[] = []
  #begunBytes = 0
  #isComplete = false

  /** True after the array has ended. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Reads the next part of the text. Returns the objects that end in this part. */
  push(piece: Buffer): unknown[] {
    const objects: unknown[] = []
    let from = 0
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at]
      if (this.#isInString) this.#readInString(byte)
      else if (byte === QUOTE) this.#isInString = true
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (this.#depth === 0 && byte === OPEN_OBJECT) throw new SyntaxError('the answer is not an array')
        this.#depth += 1
        if (this.#depth === 2) from = at
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        this.#depth -= 1
        if (this.#depth === 1) objects.push(this.#end(piece.subarray(from, at + 1)))
        if (this.#depth === 0) this.#isComplete = true
      }
    }
    if (this.#depth > 1) this.#keep(piece.subarray(from))
    return objects
  }

  #readInString(byte: number | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) this.#isInString = false
  }

  #keep(part: Buffer): void {
    this.#begun.push(part)
    this.#begunBytes += part.length
    if (this.#begunBytes > ELEMENT_BYTES_MAX) throw new Error('a document of the answer is too large')
  }

  #end(rest: Buffer): unknown {
    const text = Buffer.concat([...this.#begun, rest]).toString()
    this.#begun = []
    this.#begunBytes = 0
    return JSON.parse(text)
  }
}
