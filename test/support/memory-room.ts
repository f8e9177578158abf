import { recordBytes } from '../../functions/src/catalog/definitions/layer-totals.ts'
import type { LayerLimits, LayerTotals } from '../../functions/src/catalog/definitions/layer-totals.ts'

/** A version in the in-memory store. */
export type MemoryVersion = { readonly name: string; readonly revision: number; readonly bytes: number }

/** The names of one kind: those that exist now, and all versions, including deletions. */
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

/** Counts the stored records again at each call. The real stores remember their counts, which must be equal to these. */
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

/** Forgets deletions and old versions until the limits are kept, in the same order as every store. */
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

/** The versions that are not present. `kind` is the index of `names` in the list of kinds. */
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
