import { isJsonObject, Needles, type JsonObject, type JsonValue } from '@toolrack/contract'
import { atOnce, type Pieces } from '../loop-turn.ts'
import { PrintedSecrets } from './printed-secrets.ts'
import { REDACTED } from './redacted.ts'
import { everySpelling } from './spellings.ts'

/**
 * The UTF-16 code units of spellings that are prepared before other work may run. This takes about 3 ms. A longer spelling is
 * prepared alone.
 */
const GROUP_LENGTH = 32 * 1024

/** The UTF-16 code units of a text that are searched before other work may run. This takes about 1 ms. */
const STEP = 32 * 1024

/** Spellings that are searched together. `shortest` is the length of the shortest of them. */
type Group = { readonly spelled: readonly string[]; readonly shortest: number; needles?: Needles }

/**
 * Removes the stored secrets that a call gets from everything that leaves the call. The work is linear in the text. It is written
 * in pieces, so that other requests get turns. Secrets of ordinary length are prepared in microseconds. A long secret is prepared
 * only for texts in which it has room.
 */
export class StoredSecrets {
  readonly #groups: readonly Group[]

  constructor(values: Iterable<string>) {
    const spelled = [...new Set([...values].flatMap(everySpelling))].filter((text) => text !== '')
    this.#groups = groupsOf(spelled.toSorted((a, b) => a.length - b.length))
  }

  /** Prepares the search in texts of this length. */
  *prepare(length = Infinity): Pieces<readonly Needles[]> {
    const prepared: Needles[] = []
    for (const group of this.#groups) {
      if (group.shortest > length) break
      if (!group.needles) yield undefined
      prepared.push((group.needles ??= new Needles(group.spelled)))
    }
    return prepared
  }

  /** Opens a filter for a text that arrives in parts. */
  open(): StoredSecretsFilter {
    return new StoredSecretsFilter(atOnce(this.prepare()))
  }

  /** The text with `[redacted]` in place of every secret. If its end was cut off, the beginning of a secret there is removed too. */
  *without(text: string, isCut = false): Pieces<string> {
    let shown = text
    for (const needles of yield* this.prepare(isCut ? Infinity : text.length)) {
      const known = new PrintedSecrets(needles)
      let kept = ''
      for (let from = 0; from < shown.length; from += STEP) {
        kept += known.take(shown.slice(from, from + STEP))
        yield undefined
      }
      shown = kept + (isCut ? known.cut() : known.end())
    }
    return shown
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
      if (end - index < (this.#groups[0]?.shortest ?? Infinity)) {
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

/** Removes stored secrets from a text that arrives in parts. */
export class StoredSecretsFilter {
  readonly #filters: readonly PrintedSecrets[]

  constructor(needles: readonly Needles[]) {
    this.#filters = needles.map((one) => new PrintedSecrets(one))
  }

  /** Takes the next part. Returns what certainly has no beginning of a secret. */
  take(part: string): string {
    return this.#filters.reduce((text, filter) => filter.take(text), part)
  }

  /** Takes a part that is shown at once: what may be the beginning of a secret at its end is removed from it. */
  takeWhole(part: string): string {
    return this.#filters.reduce((text, filter) => filter.take(text) + filter.cut(), part)
  }

  /** Ends the text. Returns what was held back. */
  end(): string {
    return this.#filters.reduce((text, filter) => filter.take(text) + filter.end(), '')
  }
}

/** Divides the spellings, of which the shortest is the first, into groups. */
function groupsOf(spelled: readonly string[]): readonly Group[] {
  const groups: string[][] = []
  let room = 0
  for (const text of spelled) {
    if (text.length > room) {
      groups.push([])
      room = GROUP_LENGTH
    }
    groups.at(-1)?.push(text)
    room -= text.length
  }
  return groups.map((group) => ({ spelled: group, shortest: group[0]?.length ?? 0 }))
}
