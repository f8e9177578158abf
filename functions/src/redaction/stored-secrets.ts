import { isJsonObject, Needles, type JsonObject, type JsonValue } from '@toolrack/contract'
import { atOnce, type Pieces } from '../loop-turn.ts'
import { PrintedSecrets } from './printed-secrets.ts'
import { REDACTED } from './redacted.ts'
import { everySpelling } from './spellings.ts'

/**
 * A search has all spellings up to a length, and the next search those of up to so many times this length. So a short text does not
 * wait until long spellings are prepared, and there are few searches.
 */
const LENGTH_FACTOR = 8

/** The UTF-16 code units of a text that are searched before other work may run. This takes about 1 ms. */
const STEP = 32 * 1024

/** A search for the first `count` spellings. It is enough for a text that is shorter than the shortest one of the next search. */
type Search = { readonly shortest: number; readonly count: number; needles?: Needles }

/**
 * Removes the stored secrets that a call gets from everything that leaves the call. The work is linear in the text. It is written
 * in pieces, so that other requests get turns. Secrets of ordinary length are prepared in microseconds. A long secret is prepared
 * only for texts in which it has room.
 */
export class StoredSecrets {
  /** The shortest first. */
  readonly #spelled: readonly string[]
  readonly #searches: readonly Search[]
  #isUnknown = false

  constructor(values: Iterable<string>) {
    const spelled = [...new Set([...values].flatMap(everySpelling))].filter((text) => text !== '')
    this.#spelled = spelled.toSorted((a, b) => a.length - b.length)
    this.#searches = searchesFor(this.#spelled)
  }

  /** For secrets that are not known: of every text, everything is removed. */
  static unknown(): StoredSecrets {
    const stored = new StoredSecrets([])
    stored.#isUnknown = true
    return stored
  }

  /** Prepares the search in texts of this length. Undefined if no secret has room in such a text. */
  *prepare(length = Infinity): Pieces<Needles | undefined> {
    const least = this.#searches.findLastIndex(({ shortest }) => shortest <= length)
    const search = this.#searches[least]
    if (!search) return undefined
    const prepared = this.#searches.slice(least).find(({ needles }) => needles)
    if (prepared) return prepared.needles
    return (search.needles = yield* Needles.inPieces(this.#spelled.slice(0, search.count)))
  }

  /** Opens a filter for a text that arrives in parts. */
  open(): PrintedSecrets {
    return new PrintedSecrets(atOnce(this.prepare()) ?? new Needles([]))
  }

  /** The text with `[redacted]` in place of every secret. If its end was cut off, the beginning of a secret there is removed too. */
  *without(text: string, isCut = false): Pieces<string> {
    if (this.#isUnknown) return text === '' ? text : REDACTED
    const needles = yield* this.prepare(isCut ? Infinity : text.length)
    if (!needles) return text
    const known = new PrintedSecrets(needles)
    let shown = ''
    for (let from = 0; from < text.length; from += STEP) {
      shown += known.take(text.slice(from, from + STEP))
      yield undefined
    }
    return shown + (isCut ? known.cut() : known.end())
  }

  /** As `without`, for the JSON of a value. The result is JSON too. */
  *withoutInJson(json: string): Pieces<string> {
    if ((yield* this.without(json)) === json) return json
    const shown = yield* this.#withoutInTokens(json)
    // What is still found is a secret that begins in one value and ends in another one.
    return (yield* this.without(shown)) === shown ? shown : JSON.stringify(REDACTED)
  }

  /** An object without the secrets in its texts, numbers and names. Returns the same object if there are none. */
  withoutInObject(object: JsonObject): JsonObject {
    const json = JSON.stringify(object)
    const shown = atOnce(this.withoutInJson(json))
    if (shown === json) return object
    const value = JSON.parse(shown) as JsonValue
    return isJsonObject(value) ? value : { [REDACTED]: REDACTED }
  }

  *#withoutInTokens(json: string): Pieces<string> {
    let shown = ''
    let from = 0
    for (let index = 0; index < json.length; index += 1) {
      const end = tokenEnd(json, index)
      if (end - index < (this.#spelled[0]?.length ?? Infinity)) {
        index = Math.max(index, end - 1)
        continue
      }
      shown += json.slice(from, index) + (yield* this.#withoutInToken(json.slice(index, end)))
      from = end
      index = end - 1
    }
    return shown + json.slice(from)
  }

  *#withoutInToken(token: string): Pieces<string> {
    const shown = yield* this.without(token)
    if (shown === token) return token
    return token.startsWith('"') && isText(shown) ? shown : JSON.stringify(REDACTED)
  }
}

const NUMBER = /[-+.\deE]/

/** Where the text or the number ends that begins at `start`. The same as `start` if there is none. */
function tokenEnd(json: string, start: number): number {
  let end = start
  if (json[start] === '"') {
    for (end += 1; json[end] !== '"'; end += 1) if (json[end] === '\\') end += 1
    return end + 1
  }
  if (!/[-\d]/.test(json[start] ?? '')) return start
  while (NUMBER.test(json[end] ?? '')) end += 1
  return end
}

/** True for the JSON of a text. A removed part may have left half of an escape. */
function isText(json: string): boolean {
  try {
    return typeof JSON.parse(json) === 'string'
  } catch {
    return false
  }
}

/** The searches for the spellings, of which the shortest is the first. */
function searchesFor(spelled: readonly string[]): readonly Search[] {
  const starts: number[] = []
  for (const [at, { length }] of spelled.entries()) {
    const shortest = spelled[starts.at(-1) ?? at]?.length ?? 0
    if (starts.length === 0 || length >= LENGTH_FACTOR * shortest) starts.push(at)
  }
  return starts.map((start, at) => ({
    shortest: spelled[start]?.length ?? 0,
    count: starts[at + 1] ?? spelled.length,
  }))
}
