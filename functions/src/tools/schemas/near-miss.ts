/** Longer names are no slips of the keyboard, and comparing them costs. */
const LENGTH_MAX = 64

/** The known name that was probably meant: the nearest, however it is cased, if at most a third of it is different. */
export function nearMiss(name: string, known: readonly string[]): string | undefined {
  if (name.length > LENGTH_MAX) return undefined
  const sent = folded(name)
  let nearest: { readonly name: string; readonly distance: number } | undefined
  for (const candidate of known) {
    if (candidate.length > LENGTH_MAX) continue
    const distance = editDistance(sent, folded(candidate))
    const isNear = distance <= Math.max(sent.length, candidate.length) / 3
    if (isNear && (!nearest || distance < nearest.distance)) nearest = { name: candidate, distance }
  }
  return nearest?.name
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, '')
}

/** How many characters must be put in, taken out or changed to make one of the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= to.length; j += 1) {
      const change = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(change, at(row, j) + 1, at(next, j - 1) + 1))
    }
    row = next
  }
  return at(row, to.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0
}
