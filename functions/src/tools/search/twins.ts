import { hashOf, isTelling, splitWords, termsOf } from './words.ts'

/** What of a tool is compared to find near-identical tools. It depends on the tool alone, so it tells nothing of hidden ones. */
export type Likeness = {
  /** A hash of the name without numbers and without a suffix that has one: the same for `get_weather` and `get_weather_2`. */
  readonly family: number
  /** A hash of the description and the names of the arguments. 0 for a description that says too little to be compared. */
  readonly content: number
  /** Hashes of the words of the name, and of the telling words of the description, in ascending order. */
  readonly nameWords: Uint32Array
  readonly description: Uint32Array
}

/** How much two tools must have in common to be twins: this share of all the words that either has. */
const COMMON = 0.5
/** A shorter description, such as "Calls the API", may be that of many different tools. */
const DESCRIPTION_MIN = 3
/** Words that are compared, so that a comparison has a bound. Nearly all names and descriptions are shorter. */
const WORDS_MAX = 64
/** A tool is compared with this many groups of the same family. */
const GROUPS_MAX = 16

export function likeness(
  name: string,
  described: readonly string[],
  argumentNames: readonly string[],
): Likeness {
  const words = splitWords(name)
  const last = words.at(-1) ?? ''
  const whole = words.length > 1 && /\p{N}/u.test(last) ? words.slice(0, -1) : words
  const bare = whole.map((word) => word.replace(/\p{N}{1,40}$/u, '')).filter((word) => word !== '')
  const description = [...new Set(termsOf(described.filter(isTelling)))].slice(0, WORDS_MAX)
  const content = JSON.stringify([description, argumentNames.toSorted()])
  return {
    family: hashOf(bare.join(' ')),
    content: description.length < DESCRIPTION_MIN ? 0 : hashOf(content),
    nameWords: hashes(termsOf(bare).slice(0, WORDS_MAX)),
    description: hashes(description),
  }
}

/**
 * True if two tools do the same as far as their definitions say: names that differ only in numbers, with descriptions that have half
 * of their words in common; or the same description and arguments, with half of the names in common.
 */
export function areTwins(a: Likeness, b: Likeness): boolean {
  if (a.family === b.family) return share(a.description, b.description) >= COMMON
  return a.content !== 0 && a.content === b.content && share(a.nameWords, b.nameWords) >= COMMON
}

/** Puts each item into the group of the first item before it that is its twin. Takes time for each item, not for each pair. */
export function groupTwins<Item>(
  items: Iterable<Item>,
  of: (item: Item) => Likeness,
): readonly (readonly [Item, ...Item[]])[] {
  const groups: [Item, ...Item[]][] = []
  const families = new Map<number, [Item, ...Item[]][]>()
  const contents = new Map<number, [Item, ...Item[]][]>()
  for (const item of items) {
    const own = of(item)
    const near = [...(families.get(own.family) ?? []), ...(contents.get(own.content) ?? [])]
    const group = near.find(([first]) => areTwins(of(first), own))
    if (group) group.push(item)
    else {
      const made: [Item, ...Item[]] = [item]
      groups.push(made)
      for (const [map, key] of [
        [families, own.family],
        [contents, own.content],
      ] as const) {
        const known = map.get(key) ?? []
        if (known.length < GROUPS_MAX) map.set(key, [...known, made])
      }
    }
  }
  return groups
}

function hashes(terms: readonly string[]): Uint32Array {
  return Uint32Array.from(new Set(terms.map(hashOf))).sort()
}

/** The share of the words in one of two ascending lists that are in both. 0 if a list is empty. */
function share(a: Uint32Array, b: Uint32Array): number {
  let common = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [one = 0, other = 0] = [a[i], b[j]]
    if (one === other) common += 1
    if (one <= other) i += 1
    if (other <= one) j += 1
  }
  return common === 0 ? 0 : common / (a.length + b.length - common)
}
