import type { Needs } from './needs.ts'
import { hashOf, isTelling, phrasesIn, splitWords, termsOf } from './words.ts'

/**
 * What an index keeps of a tool to find near-identical tools (twins). It depends only on this tool, so it reveals nothing about
 * hidden tools.
 */
export type ToolFacts = {
  /**
   * A hash of the name without its numbers, so that `get_weather` and `get_weather_2` have the same hash. A suffix that contains
   * a number is left out too.
   */
  readonly family: number
  /** A hash of the description and of the names of the arguments. 0 if the description is too short to compare. */
  readonly content: number
  /**
   * Hashes of three kinds: of the words of the name, of the words of the description except stop words, and of pairs of
   * neighboring words. The first two kinds are in ascending order.
   */
  readonly hashes: Uint32Array
  /** The positions in `hashes` at which the hashes of the description begin, and those of the pairs of words. */
  readonly descriptionAt: number
  readonly phrasesAt: number
  readonly needs: Needs
}

/** Two tools are twins if at least this share of their words is the same. */
const COMMON = 0.5
/**
 * The fewest words of a description that is compared. Many different tools have a shorter description, such as "Calls the API".
 */
const DESCRIPTION_MIN = 3
/**
 * The most hashes of each kind that are kept. This limits the time of a comparison. Nearly all names and descriptions are
 * shorter.
 */
const HASHES_MAX = 64
/** The most groups with which a tool is compared: this many groups of the same family, and this many with the same content. */
const GROUPS_MAX = 16

/** `described` are the words of the description. */
export function toolFacts(
  name: string,
  described: readonly string[],
  argumentNames: readonly string[],
  needs: Needs,
): ToolFacts {
  const words = splitWords(name)
  const whole = words.length > 1 && /\p{N}/u.test(words.at(-1) ?? '') ? words.slice(0, -1) : words
  const bare = whole.map((word) => word.replace(/\p{N}{1,40}$/u, '')).filter((word) => word !== '')
  const telling = termsOf(described.filter(isTelling))
  const [named, description] = [ascending(termsOf(bare)), ascending(telling)]
  const phrases = phrasesIn(described).slice(0, HASHES_MAX)
  const content = hashOf(JSON.stringify([telling, argumentNames.toSorted()]))
  return {
    family: hashOf(bare.join(' ')),
    content: description.length < DESCRIPTION_MIN ? 0 : content,
    hashes: Uint32Array.of(...named, ...description, ...phrases),
    descriptionAt: named.length,
    phrasesAt: named.length + description.length,
    needs,
  }
}

/** How many of the given phrases the description contains. A phrase is a pair of neighboring words. */
export function commonPhrases({ hashes, phrasesAt }: ToolFacts, phrases: ReadonlySet<number>): number {
  let common = 0
  for (let at = phrasesAt; at < hashes.length; at += 1) if (phrases.has(hashes[at] ?? 0)) common += 1
  return common
}

type Group<Item> = readonly [Item, ...Item[]]

/**
 * Puts each item into a group with its twins: into the group of the first earlier item that is its twin. The time grows with the
 * number of items, not with the number of pairs.
 */
export function groupTwins<Item extends { readonly facts: ToolFacts }>(
  items: Iterable<Item>,
): readonly Group<Item>[] {
  const groups: [Item, ...Item[]][] = []
  const byFamily = new Map<number, [Item, ...Item[]][]>()
  const byContent = new Map<number, [Item, ...Item[]][]>()
  for (const item of items) {
    const { family, content } = item.facts
    const isTwin = ([first]: Group<Item>): boolean => areTwins(first.facts, item.facts)
    const group = byFamily.get(family)?.find(isTwin) ?? byContent.get(content)?.find(isTwin)
    if (group) {
      group.push(item)
      continue
    }
    const made: [Item, ...Item[]] = [item]
    groups.push(made)
    put(byFamily, family, made)
    put(byContent, content, made)
  }
  return groups
}

/**
 * True if two tools do the same, as far as their definitions say. There are two cases:
 *
 * - Their names differ only in numbers, and their descriptions have half of their words in common.
 * - Their descriptions and arguments are the same, and their names have half of their words in common.
 */
function areTwins(a: ToolFacts, b: ToolFacts): boolean {
  if (a.family === b.family)
    return (
      share(
        a.hashes.subarray(a.descriptionAt, a.phrasesAt),
        b.hashes.subarray(b.descriptionAt, b.phrasesAt),
      ) >= COMMON
    )
  if (a.content === 0 || a.content !== b.content) return false
  return share(a.hashes.subarray(0, a.descriptionAt), b.hashes.subarray(0, b.descriptionAt)) >= COMMON
}

/** The share of numbers that are in both of two ascending lists. 0 if both lists are empty. */
function share(a: Uint32Array, b: Uint32Array): number {
  let common = 0
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const [one = 0, other = 0] = [a[i], b[j]]
    if (one === other) common += 1
    if (one <= other) i += 1
    if (other <= one) j += 1
  }
  return common === 0 ? 0 : common / (a.length + b.length - common)
}

function ascending(terms: readonly string[]): Uint32Array {
  return Uint32Array.from(new Set(terms.slice(0, HASHES_MAX).map(hashOf))).sort()
}

function put<Value>(map: Map<number, Value[]>, key: number, value: Value): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [value])
  else if (known.length < GROUPS_MAX) known.push(value)
}
