import type { JsonObject } from '../json.ts'
import { shownKind, type ArgumentKind, type Reading } from './argument-kind.ts'
import { readText } from './read-text.ts'
import type { ToolReadings } from './tool-readings.ts'

/** The name of an argument whose text has no canonical spelling, and the kind that its text should have. */
export type UnreadArgument = { readonly name: string; readonly kind: ArgumentKind }

/** The kinds whose texts the handler always gets as they were sent. */
const AS_THEY_COME: ReadonlySet<Reading['kind']> = new Set(['text', 'command', 'other', 'value'])

/**
 * Replaces each text by its canonical spelling, so that the handler gets this spelling. If no text changes, `args` is the same
 * object. A text stays if it may be read in several ways whose spellings differ. It also stays if it does not fit any kind of its
 * argument. Then `unread` names the argument.
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

/**
 * How often a text may be read. It is read again if its canonical spelling differs, for example because white space was cut off.
 */
const TURNS_MAX = 8

/**
 * Matches an address, such as `s3://bucket/key`. If the name of an argument suggests a path, the text may be an address
 * nevertheless.
 */
const ADDRESS = /^[a-z][a-z\d+.-]*:\/\//i

/**
 * The canonical spelling of a text. Undefined if none of these readings can read the text, or no reading is certain. The
 * unchanged text if the readings give different spellings.
 */
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
    // A reading that refuses the text may accept its canonical spelling, and give another result. So the text is read again.
    if (next === canonical) return canonical
    canonical = next
  }
  return text
}
