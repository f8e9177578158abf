import { isJsonObject, Needles, START, type JsonObject, type JsonValue } from '@toolrack/contract'
import { atOnce, type Pieces } from '../loop-turn.ts'
import { CUT_MIN, PrintedSecrets } from './printed-secrets.ts'
import { REDACTED } from './redacted.ts'
import { asItIs, spelledInGroups } from './spellings.ts'
import { IN_ANY_ENCODING, read } from './text-encodings.ts'

/**
 * A search has all spellings up to a length. The next search also has those that are up to so many times as long. So a short text
 * does not wait until long spellings are prepared, and there are few searches.
 */
const LENGTH_FACTOR = 8

/** The UTF-16 code units of a text that are searched before other work may run. This takes about 1 ms. */
const STEP = 32 * 1024

/** The most UTF-16 code units of a spelling that is searched. No longer text leaves a call. */
const SPELLING_LENGTH_MAX = 256 * 1024

/**
 * The most UTF-16 code units of all spellings together. Most secrets of together 7 KB have fewer. Preparing the search takes
 * 50 ms and 10 MB for so many. Of longer secrets, only the usual spellings are searched: those for which there is room.
 */
const SPELLED_LENGTH_MAX = 512 * 1024

/** The most characters of an error text that a runner sends (`ERROR_CHARACTERS_MAX` in `wire/child_messages.py`). */
const ERROR_LENGTH_MAX = 20_000

/**
 * A name that has so many UTF-16 code units of a secret in a row may be a part of it, because a name is what is left of a path.
 * Fewer reveal little, and are often there by chance.
 */
const PART_LENGTH = 8

/** Where the runner has shortened a text (`cut_middle` and `shortened` in `child/module`). */
const SHORTENED = /\n… [\d,]+ characters left out …\n|…/g

/** A search for the first `count` spellings. It is enough for a text that is shorter than the shortest one of the next search. */
type Search = { readonly shortest: number; readonly count: number; needles?: Needles }

/**
 * Removes the stored secrets that a call gets from everything that leaves the call. The work is linear in the text. It is written
 * in pieces, so that other requests get turns. Secrets of ordinary length are prepared in microseconds. Secrets are spelled and
 * prepared only for texts in which they have room.
 */
export class StoredSecrets {
  readonly #values: readonly string[]
  /** The length of the shortest spelling. */
  readonly #shortest: number
  /** The shortest first. Undefined until they are needed. */
  #spelled: readonly string[] | undefined
  #searches: readonly Search[] = []
  /** The search for reversed secrets, which finds the end of a secret at the beginning of a text. */
  #reversed: Needles | undefined
  #isUnknown = false

  constructor(values: Iterable<string>) {
    this.#values = [...new Set(values)].filter((value) => value !== '')
    this.#shortest = Math.min(...this.#values.flatMap((value) => asItIs(value).map(({ length }) => length)))
  }

  /** For secrets that are not known: of every text, everything is removed. */
  static unknown(): StoredSecrets {
    const stored = new StoredSecrets([])
    stored.#isUnknown = true
    return stored
  }

  /** Prepares the search in texts of this length. Undefined if no secret has room in such a text. */
  *prepare(length = Infinity): Pieces<Needles | undefined> {
    if (length < this.#shortest || this.#values.length === 0) return undefined
    const spelled = yield* this.#everySpelling()
    if (this.#searches.length === 0) this.#searches = searchesFor(spelled)
    const least = this.#searches.findLastIndex(({ shortest }) => shortest <= length)
    const search = this.#searches[least]
    if (!search) return undefined
    const prepared = this.#searches.slice(least).find(({ needles }) => needles)
    if (prepared) return prepared.needles
    return (search.needles = yield* Needles.inPieces(spelled.slice(0, search.count)))
  }

  /** Opens a filter for a text that arrives in parts. */
  open(): PrintedSecrets {
    return new PrintedSecrets(atOnce(this.prepare()) ?? new Needles([]))
  }

  /** The text with `[redacted]` in place of every secret. If its end was cut off, a secret that begins there is removed too. */
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

  /**
   * As `without`, for an error of a runner, which may have left something out. Before such a place, what may be the beginning of
   * a secret is removed too, and after it, what may be the end of one.
   */
  *withoutInError(error: string): Pieces<string> {
    const text = yield* this.without(error)
    const marks = text.match(SHORTENED)
    if (!marks) return text
    const begins = yield* this.prepare()
    if (!begins) return text
    const ends = (this.#reversed ??= yield* Needles.inPieces(reversedEnds(this.#spelled ?? [])))
    const parts = text.split(SHORTENED)
    const shown = parts.map((part, at) => {
      const first = at === 0 ? 0 : openAtEnd(ends, reversed(part))
      const last = at === marks.length ? 0 : openAtEnd(begins, part.slice(first))
      const kept = part.slice(first, part.length - last)
      return (first > 0 ? REDACTED : '') + kept + (last > 0 ? REDACTED : '') + (marks[at] ?? '')
    })
    return shown.join('')
  }

  /** True if a secret is in the bytes of a file, in one of these readings. */
  *isInBytes(bytes: Uint8Array, readings = IN_ANY_ENCODING): Pieces<boolean> {
    if (this.#isUnknown) return bytes.length > 0
    const needles = yield* this.prepare(bytes.length)
    if (!needles) return false
    for (const reading of readings) {
      let state = START
      for (const part of read(bytes, reading)) {
        for (let at = 0; at < part.length; at += 1) {
          state = needles.next(state, part.charCodeAt(at))
          if (needles.endingAt(state) !== -1) return true
        }
        yield undefined
      }
    }
    return false
  }

  /** True if a secret is in a short text in capital or small letters: `x/KEY` as a media type is `x/key`. */
  *isInAnyCase(text: string): Pieces<boolean> {
    if (this.#isUnknown) return text !== ''
    const small = text.toLowerCase()
    for (const secret of yield* this.#everySpelling()) {
      if (secret.length > small.length) return false
      // oxlint-disable-next-line toolrack/linear-texts -- Callers give names and types, which have a few hundred characters.
      if (small.includes(secret.toLowerCase())) return true
      yield undefined
    }
    return false
  }

  /** True if a short text has a secret, or 8 UTF-16 code units in a row of one, in capital or small letters. */
  *isPartlyIn(text: string): Pieces<boolean> {
    if (yield* this.isInAnyCase(text)) return true
    const small = text.toLowerCase()
    const parts = new Set<string>()
    for (let at = PART_LENGTH; at <= small.length; at += 1) parts.add(small.slice(at - PART_LENGTH, at))
    const needles = yield* Needles.inPieces([...parts])
    for (const secret of yield* this.#everySpelling()) {
      let state = START
      for (let from = 0; from < secret.length; from += STEP) {
        const piece = secret.slice(from, from + STEP).toLowerCase()
        for (let at = 0; at < piece.length; at += 1) {
          state = needles.next(state, piece.charCodeAt(at))
          if (needles.endingAt(state) !== -1) return true
        }
        yield undefined
      }
    }
    return false
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

  /** All spellings, the shortest first. */
  *#everySpelling(): Pieces<readonly string[]> {
    return (this.#spelled ??= yield* spelledOf(this.#values))
  }

  *#withoutInTokens(json: string): Pieces<string> {
    let shown = ''
    let from = 0
    for (let index = 0; index < json.length; index += 1) {
      const end = tokenEnd(json, index)
      if (end - index < this.#shortest) {
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

/** All spellings of the secrets for which there is room, the shortest first. */
function* spelledOf(values: readonly string[]): Pieces<readonly string[]> {
  const spelled = new Set(values)
  let room = SPELLED_LENGTH_MAX
  // The usual spellings of every secret come before the rare ones of the first secret.
  let rest = values.map((value) => ({ value, groups: spelledInGroups(value) }))
  while (rest.length > 0) {
    const left: typeof rest = []
    for (const one of rest) {
      // No spelling is shorter than the trimmed secret, except those of its lines, which come with the first groups.
      const group = room < one.value.trim().length ? undefined : one.groups.next()
      for (const text of group?.value ?? []) {
        if (text === '' || text.length > SPELLING_LENGTH_MAX || spelled.has(text) || text.length > room)
          continue
        spelled.add(text)
        room -= text.length
      }
      yield undefined
      if (group && !group.done) left.push(one)
    }
    rest = left
  }
  return [...spelled].toSorted((a, b) => a.length - b.length)
}

/** The last characters of the secrets, reversed. */
function reversedEnds(spelled: readonly string[]): readonly string[] {
  return [...new Set(spelled.map((text) => reversed(text.slice(-ERROR_LENGTH_MAX))))]
}

function reversed(text: string): string {
  let turned = ''
  for (let at = text.length - 1; at >= 0; at -= 1) turned += text.charAt(at)
  return turned
}

/** How many characters at the end of the text may be the beginning of a needle. 0 for so few that they reveal little. */
function openAtEnd(needles: Needles, text: string): number {
  let state = START
  for (let at = 0; at < text.length; at += 1) state = needles.next(state, text.charCodeAt(at))
  const open = needles.open(state)
  return open < CUT_MIN ? 0 : open
}
