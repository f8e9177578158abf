import { aliasOf, plainAlias, type Layer } from '@toolrack/contract'
import { atOnce, type Pieces } from '../../loop-turn.ts'
import { catalogEntry, type CatalogEntry } from './catalog-entry.ts'
import type { LayerRead, SkippedItem, StoredDefinition } from './layer-source.ts'

/** The bytes of an entry in memory besides its texts, as measured. A small definition takes 2 KB with its texts. */
const ENTRY_BYTES = 1_024
/** The bytes of a deleted name and its revision in memory. */
const DELETION_BYTES = 300

/**
 * The deleted names of a layer. `byName` has the revision of each known deletion. `forgotten` is the revision of the newest
 * deletion whose name is no longer known.
 */
type Deletions = { readonly byName: ReadonlyMap<string, string>; readonly forgotten: string | undefined }
const NO_DELETIONS: Deletions = { byName: new Map(), forgotten: undefined }

/** The content of one layer at one revision. A snapshot never changes. */
export class LayerSnapshot {
  readonly layer: Layer
  readonly revision: string
  readonly byName: ReadonlyMap<string, CatalogEntry>
  readonly skipped: readonly SkippedItem[]
  readonly deletions: Deletions
  #sorted: readonly CatalogEntry[] | undefined
  /** The entries by alias, as far as the aliases were read. They are read from the last entry to the first. */
  readonly #byAlias = new Map<string, CatalogEntry>()
  #aliasesLeft: number | undefined

  constructor(
    layer: Layer,
    byName: ReadonlyMap<string, CatalogEntry>,
    { revision, skipped }: Pick<LayerRead, 'revision' | 'skipped'>,
    deletions: Deletions = NO_DELETIONS,
  ) {
    this.layer = layer
    this.revision = revision
    this.byName = byName
    this.skipped = skipped
    this.deletions = deletions
  }

  /**
   * The revision at which a name was last written or deleted. If the name is not known, it is the newest revision at which the
   * name may have been deleted. Undefined if the layer never had the name.
   */
  writtenAt(name: string): string | undefined {
    const { byName, forgotten } = this.deletions
    return this.byName.get(name)?.stored.revision ?? byName.get(name) ?? forgotten
  }

  /** The approximate bytes of the snapshot in memory. */
  get bytes(): number {
    let bytes = this.deletions.byName.size * DELETION_BYTES
    for (const { stored, fragment } of this.byName.values())
      bytes += stored.text.length + fragment.length + ENTRY_BYTES
    return bytes
  }

  /** The entries, ordered by the code units of their names. */
  get sorted(): readonly CatalogEntry[] {
    return (this.#sorted ??= [...this.byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)))
  }

  /**
   * The entries by alias. An entry whose name equals its alias is left out. If two names have the same alias, the first name is
   * used.
   */
  get byAlias(): ReadonlyMap<string, CatalogEntry> {
    if (this.#aliasesLeft !== 0) atOnce(this.readAliases())
    return this.#byAlias
  }

  /** Fills `byAlias`, and lets other work run now and then. The aliases are read only once for all callers. */
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

  /** The snapshot after a read. An entry with unchanged content stays the same object. */
  static *after(layer: Layer, previous: LayerSnapshot | undefined, read: LayerRead): Pieces<LayerSnapshot> {
    const byName = new Map(read.whole ? [] : previous?.byName)
    for (const stored of read.definitions) {
      yield
      const known = previous?.byName.get(stored.name)
      byName.set(stored.name, known && isSame(known.stored, stored) ? known : catalogEntry(stored, layer))
    }
    for (const name of read.deleted) byName.delete(name)
    return new LayerSnapshot(layer, byName, read, deletionsAfter(previous, read))
  }
}

/**
 * The aliases that contain a hash. They are kept because computing a hash takes some 20 µs. An unchanged entry stays the same
 * object in later snapshots.
 */
const HASHED = new WeakMap<CatalogEntry, string>()

/** The alias of an entry's name. */
export function aliasOfEntry(entry: CatalogEntry): string {
  const known = plainAlias(entry.name) ?? HASHED.get(entry)
  if (known !== undefined) return known
  const alias = aliasOf(entry.name)
  HASHED.set(entry, alias)
  return alias
}

/**
 * The deletions after a read. If nothing was deleted, the result is the same object as before. A name that was defined again
 * stays in `byName`, but its definition counts.
 */
function deletionsAfter(
  previous: LayerSnapshot | undefined,
  { whole, deletions = [], forgotten }: LayerRead,
): Deletions {
  const before = (whole ? undefined : previous?.deletions) ?? NO_DELETIONS
  if (deletions.length === 0 && forgotten === before.forgotten) return before
  const made = deletions.map(({ name, revision }) => [name, revision] as const)
  return { byName: new Map([...before.byName, ...made]), forgotten }
}

function isSame(a: StoredDefinition, b: StoredDefinition): boolean {
  return a.revision === b.revision && a.text === b.text && a.source === b.source
}
