import { aliasOf, plainAlias, type Layer } from '@toolrack/contract'
import { atOnce, type Pieces } from '../../loop-turn.ts'
import { catalogEntry, type CatalogEntry } from './catalog-entry.ts'
import type { LayerRead, SkippedItem, StoredDefinition } from './layer-source.ts'

/** Bytes of an entry without its texts. Measured: a small definition with its texts takes 2 KB. */
const ENTRY_BYTES = 1_024

/** One layer at one revision. A snapshot never changes. */
export class LayerSnapshot {
  readonly layer: Layer
  readonly revision: string
  readonly byName: ReadonlyMap<string, CatalogEntry>
  readonly skipped: readonly SkippedItem[]
  #sorted: readonly CatalogEntry[] | undefined
  /** The entries whose aliases were read, from the last one on. */
  readonly #byAlias = new Map<string, CatalogEntry>()
  #aliasesLeft: number | undefined

  constructor(
    layer: Layer,
    byName: ReadonlyMap<string, CatalogEntry>,
    { revision, skipped }: Pick<LayerRead, 'revision' | 'skipped'>,
  ) {
    this.layer = layer
    this.revision = revision
    this.byName = byName
    this.skipped = skipped
  }

  /** The approximate bytes of the snapshot in memory. */
  get bytes(): number {
    let bytes = 0
    for (const { stored, fragment } of this.byName.values())
      bytes += stored.text.length + fragment.length + ENTRY_BYTES
    return bytes
  }

  /** The entries, ordered by the code units of their names. */
  get sorted(): readonly CatalogEntry[] {
    return (this.#sorted ??= [...this.byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)))
  }

  /** The entries by alias, without the names that equal their alias. If two names have the same alias, the first name is used. */
  get byAlias(): ReadonlyMap<string, CatalogEntry> {
    if (this.#aliasesLeft !== 0) atOnce(this.readAliases())
    return this.#byAlias
  }

  /** Reads the aliases for `byAlias` in pieces. What one caller has read, the others need not read. */
  *readAliases(): Pieces<void> {
    const { sorted } = this
    this.#aliasesLeft ??= sorted.length
    while (this.#aliasesLeft > 0) {
      this.#aliasesLeft -= 1
      const entry = sorted[this.#aliasesLeft]
      if (!entry) continue
      const alias = aliasOfEntry(entry)
      if (alias !== entry.name) this.#byAlias.set(alias, entry)
      yield
    }
  }

  /** The snapshot after a read. Entries whose content is the same stay the same objects. */
  static *after(layer: Layer, previous: LayerSnapshot | undefined, read: LayerRead): Pieces<LayerSnapshot> {
    const byName = new Map(read.whole ? [] : previous?.byName)
    for (const stored of read.definitions) {
      yield
      const known = previous?.byName.get(stored.name)
      byName.set(stored.name, known && isSame(known.stored, stored) ? known : catalogEntry(stored, layer))
    }
    for (const name of read.deleted) byName.delete(name)
    return new LayerSnapshot(layer, byName, read)
  }
}

/** The aliases of entries that need a hash, which takes some 20 µs. Entries stay the same in later snapshots. */
const HASHED = new WeakMap<CatalogEntry, string>()

/** The alias of an entry's name. */
export function aliasOfEntry(entry: CatalogEntry): string {
  const known = plainAlias(entry.name) ?? HASHED.get(entry)
  if (known !== undefined) return known
  const alias = aliasOf(entry.name)
  HASHED.set(entry, alias)
  return alias
}

function isSame(a: StoredDefinition, b: StoredDefinition): boolean {
  return a.revision === b.revision && a.text === b.text && a.source === b.source
}
