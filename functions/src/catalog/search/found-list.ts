import type { FoundNote } from '@toolrack/contract'
import type { CatalogEntry } from '../views/catalog-entry.ts'
import type { FoundTool } from './ranked-tools.ts'

/** The most twins that are named beside a tool. More names help nobody to choose. */
export const TWINS_MAX = 20

/** The order of a list: first the tools that stand for their groups, then all twins. Both are ordered by their scores. */
export function listOrder(found: readonly FoundTool[]): readonly CatalogEntry[] {
  const twins = found
    .flatMap((one) => one.twins)
    .toSorted((a, b) => b.score - a.score || (a.entry.name < b.entry.name ? -1 : 1))
  return [...found, ...twins].map(({ entry }) => entry)
}

/** The note of a list on each found tool. The tool that stands for its group names its twins, and each twin names that tool. */
export function notesOf(found: readonly FoundTool[]): ReadonlyMap<CatalogEntry, FoundNote> {
  const notes = new Map<CatalogEntry, FoundNote>()
  for (const { entry, score, twins } of found) {
    notes.set(entry, { score: rounded(score), twins: twinNames(twins) })
    for (const twin of twins) notes.set(twin.entry, { score: rounded(twin.score), twins: [entry.name] })
  }
  return notes
}

/** The names of the twins that fit best. */
export function twinNames(twins: FoundTool['twins']): readonly string[] {
  return twins.slice(0, TWINS_MAX).map(({ entry: { name } }) => name)
}

function rounded(score: number): number {
  return Math.round(1_000 * score) / 1_000
}
