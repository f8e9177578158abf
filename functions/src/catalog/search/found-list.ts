import type { FoundNote } from '@toolrack/contract'
import type { CatalogEntry } from '../views/catalog-entry.ts'
import type { FoundTool } from './ranked-tools.ts'

/** The most twins (near-identical tools) that are named beside a tool. More names help nobody to choose. */
export const TWINS_MAX = 20

/**
 * Orders the found tools for a list: first the best tool of each group of near-identical tools, then all others (twins). Both
 * parts are ordered by score.
 */
export function listOrder(found: readonly FoundTool[]): readonly CatalogEntry[] {
  const twins = found
    .flatMap((one) => one.twins)
    .toSorted((a, b) => b.score - a.score || (a.entry.name < b.entry.name ? -1 : 1))
  return [...found, ...twins].map(({ entry }) => entry)
}

/** The note about each found tool in a list. The best tool of a group names its twins, and each twin names that tool. */
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
