import { recordBytes } from '../../functions/src/tools/records/layer-totals.ts'
import type { LayerLimits, LayerTotals } from '../../functions/src/tools/records/layer-totals.ts'

/** A version as the in-memory store keeps it; of a deletion the text is null. */
export type MemoryVersion = { readonly name: string; readonly revision: number; readonly bytes: number }

/** One kind of names: what is there now, and all versions, the deletions with them. */
export type MemoryNames = {
  readonly present: readonly { readonly name: string; readonly bytes: number }[]
  readonly versions: readonly MemoryVersion[]
  readonly forget: (version: MemoryVersion) => void
}

type Past = MemoryVersion & {
  readonly kind: number
  readonly names: MemoryNames
  readonly isDeletion: boolean
}

/** Counts what is there: nothing is remembered, so this tells what the stores' own counts should be. */
export function memoryTotals(kinds: readonly MemoryNames[]): LayerTotals {
  const own = sum(kinds.flatMap(({ present }) => present))
  const versions = sum(kinds.flatMap((each) => each.versions))
  const past = kinds.flatMap(pastOf)
  const deleted = past.filter(({ isDeletion }) => isDeletion).length
  return {
    bytes: own + versions + deleted * recordBytes(),
    presentBytes: own + versions - sum(past),
    deleted,
  }
}

/** What goes, as every store lets it go. */
export function shrink(kinds: () => readonly MemoryNames[], { bytesMax, deletedMax }: LayerLimits): void {
  const oldestFirst = (): Past[] =>
    kinds()
      .flatMap(pastOf)
      .toSorted((a, b) => a.revision - b.revision || a.kind - b.kind || (a.name < b.name ? -1 : 1))
  while (memoryTotals(kinds()).deleted > deletedMax) {
    const deletion = oldestFirst().find(({ isDeletion }) => isDeletion)
    for (const each of deletion?.names.versions ?? [])
      if (each.name === deletion?.name) deletion.names.forget(each)
  }
  for (const oldest of oldestFirst()) {
    if (memoryTotals(kinds()).bytes <= bytesMax) return
    oldest.names.forget(oldest)
  }
}

function sum(records: readonly { readonly bytes: number }[]): number {
  return records.reduce((all, { bytes }) => all + bytes, 0)
}

/** `kind` is the place of these names among the kinds. */
function pastOf(names: MemoryNames, kind: number): readonly Past[] {
  const present = new Set(names.present.map(({ name }) => name))
  const newest = new Map<string, number>()
  for (const { name, revision } of names.versions) newest.set(name, Math.max(revision, newest.get(name) ?? 0))
  return names.versions.flatMap((version) => {
    const isNewest = newest.get(version.name) === version.revision
    const isPresent = isNewest && present.has(version.name)
    return isPresent ? [] : { ...version, kind, names, isDeletion: isNewest }
  })
}
