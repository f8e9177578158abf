/** The most UTF-16 code units of a name that is compared with the known names. A longer name is probably no misspelled name. */
export const NEAR_LENGTH_MAX = 64

/** The most steps of one search. Each known name costs STEPS_PER_NAME, and each comparison of two characters costs one step. */
const NEAR_STEPS_MAX = 1_000_000

/** The steps that a known name costs even if its characters are not compared. */
const STEPS_PER_NAME = 20

/**
 * The known name that was probably meant: the most similar one, if at most a third of its characters differ. Case, hyphens,
 * underscores, colons, dots and spaces make no difference. If there are very many names, only the first ones are compared.
 */
export function nearMiss(name: string, known: Iterable<string>): string | undefined {
  if (name.length > NEAR_LENGTH_MAX) return undefined
  const [family = ''] = /^.*?(?::|__)/.exec(name) ?? []
  const families = family === '' ? [] : [family.replace('__', ':'), family.replace(':', '__')]
  const whole = folded(name)
  const inFamily = folded(name.slice(family.length))
  let nearest: string | undefined
  let leastDistance = Infinity
  let steps = 0
  for (const candidate of known) {
    steps += STEPS_PER_NAME
    if (steps > NEAR_STEPS_MAX) break
    if (candidate.length > NEAR_LENGTH_MAX) continue
    // Names of one family begin with the same part. This part is not compared, because it would make all of them similar.
    // oxlint-disable-next-line toolrack/linear-texts -- Both have at most 64 characters.
    const same = families.find((each) => candidate.startsWith(each))
    const sent = same === undefined ? whole : inFamily
    const other = folded(same === undefined ? candidate : candidate.slice(same.length))
    const third = Math.floor(Math.max(sent.length, other.length) / 3)
    const distanceMax = Math.min(third, leastDistance - 1)
    const { slips, steps: taken } = slipsBetween(sent, other, distanceMax)
    steps += taken
    if (slips > distanceMax) continue
    nearest = candidate
    leastDistance = slips
  }
  return nearest
}

/**
 * Counts the typing errors between two texts. A typing error is a character that was added, left out or changed, or two neighbors
 * that changed places. `slips` is a number above `max` if there are more errors than `max`. `steps` is the number of pairs of
 * characters that were compared.
 */
export function slipsBetween(
  a: string,
  b: string,
  max: number,
): { readonly slips: number; readonly steps: number } {
  // There are at least as many errors as the lengths differ.
  if (Math.abs(a.length - b.length) > max) return { slips: max + 1, steps: 0 }
  const [from, to] = withoutCommonEnds(a, b)
  const steps = from.length * Math.min(to.length, 2 * max + 1)
  return { slips: areSwapped(from, to) ? 1 : editDistance(from, to, max), steps }
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[-_:. ]/g, '')
}

/** The two texts without their common start and their common end, which do not change their distance. */
function withoutCommonEnds(a: string, b: string): readonly [string, string] {
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && a.charCodeAt(start) === b.charCodeAt(start)) start += 1
  let end = 0
  while (end < shorter - start && a.charCodeAt(a.length - 1 - end) === b.charCodeAt(b.length - 1 - end))
    end += 1
  return [a.slice(start, a.length - end), b.slice(start, b.length - end)]
}

/** True if the texts consist of the same two characters in the other order, which is one typing error: `titel` for `title`. */
function areSwapped(from: string, to: string): boolean {
  return from.length === 2 && to.length === 2 && from[0] === to[1] && from[1] === to[0]
}

/**
 * How many characters must be added, removed or changed to turn one text into the other (Levenshtein). If there are more than
 * `max`, returns any number above `max`. Compares only characters whose positions differ by at most `max`.
 */
function editDistance(from: string, to: string, max: number): number {
  const beyond = max + 1
  const row = Float64Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i += 1) {
    const first = Math.max(1, i - max)
    const last = Math.min(to.length, i + max)
    let corner = row[first - 1] ?? beyond
    row[first - 1] = first === 1 ? i : beyond
    let least = row[first - 1] ?? beyond
    for (let j = first; j <= last; j += 1) {
      const above = j === i + max ? beyond : (row[j] ?? beyond)
      const change = corner + (from.charCodeAt(i - 1) === to.charCodeAt(j - 1) ? 0 : 1)
      row[j] = Math.min(change, above + 1, (row[j - 1] ?? beyond) + 1)
      least = Math.min(least, row[j] ?? beyond)
      corner = above
    }
    if (least > max) return beyond
  }
  return row[to.length] ?? beyond
}
