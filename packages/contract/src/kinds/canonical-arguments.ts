import type { JsonObject } from '../json.ts'
import { shownKind, type ArgumentKind, type Reading } from './argument-kind.ts'
import { readText } from './read-text.ts'
import type { ToolReadings } from './tool-readings.ts'

/** An argument whose text has no canonical spelling, and the kind that it should be of. */
export type UnreadArgument = { readonly name: string; readonly kind: ArgumentKind }

/** The kinds whose texts a handler always gets as they come. */
const AS_THEY_COME: ReadonlySet<Reading['kind']> = new Set(['text', 'command', 'other', 'value'])

/**
 * The arguments with the canonical spelling of each text that has one, which is what the handler gets. It is the same object if all
 * texts have it already. A text that may be read in ways that disagree stays as it is. `unread` names each text that no kind of its
 * argument takes. Such a text stays too.
 */
export function canonicalArguments(
  readings: ToolReadings,
  sent: JsonObject,
): { readonly args: JsonObject; readonly unread: readonly UnreadArgument[] } {
  const changed: Record<string, string> = {}
  const unread: UnreadArgument[] = []
  for (const [name, value] of Object.entries(sent)) {
    if (typeof value !== 'string') continue
    const ways = readings.of(name)
    if (ways.every(isAsItComes)) continue
    const text = canonicalText(ways, value)
    if (text === undefined) unread.push({ name, kind: shownKind(ways[0] ?? { kind: 'other' }) })
    else if (text !== value) changed[name] = text
  }
  return { args: Object.keys(changed).length === 0 ? sent : { ...sent, ...changed }, unread }
}

function isAsItComes({ kind, edit }: Reading): boolean {
  return edit === undefined && AS_THEY_COME.has(kind)
}

/** How often a text may have to be read again: a path without `..` may begin with white space that is cut off. */
const TURNS_MAX = 8

/** A text that begins so under the name of a path is also the address of something, such as `s3://bucket/key`. */
const ADDRESS = /^[a-z][a-z\d+.-]*:\/\//i

/** Undefined if the text is read in none of these ways, or none of them is certain. The text itself if they disagree. */
function canonicalText(ways: readonly Reading[], text: string): string | undefined {
  if (ways.some(({ isByName }) => isByName) && ADDRESS.test(text)) return text
  let canonical = text
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const read = ways.map((way) => readText(way, canonical)).filter((one) => one !== 'none')
    const texts = new Set(read.flatMap((one) => (one === 'unclear' ? [] : [one.text])))
    if (texts.size === 0) return turn === 0 ? undefined : text
    const isCertain =
      !read.includes('unclear') && !ways.some(({ kind }) => kind === 'other' || kind === 'value')
    if (!isCertain || texts.size > 1) return text
    const [next = text] = texts
    // Ways that do not read the text may read its canonical spelling, and make another text of it. So it is read again.
    if (next === canonical) return canonical
    canonical = next
  }
  return text
}
