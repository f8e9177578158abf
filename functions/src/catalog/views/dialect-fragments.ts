import { inDialectAs, type DialectRules, type Digest } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { definitionOf, type CatalogEntry } from './catalog-entry.ts'
import { aliasOfEntry } from './layer-snapshot.ts'
import { keptBytes } from './kept-bytes.ts'

/** Bytes of memory that a fragment takes in addition to its own: for its key, its cache entry, and the Buffer object. */
const OVERHEAD_BYTES = 400

/**
 * The most bytes of fragments that an instance keeps, for all dialects and users together. A dropped fragment is made again when
 * it is needed.
 */
export const FRAGMENT_BYTES_MAX = 32 * 1024 * 1024

/** A fragment and the text that it was made from. */
type Known = { readonly text: string; readonly fragment: Buffer | undefined }

/**
 * Keeps the JSON texts of converted definitions (fragments), up to a limit of memory. Definitions with the same digest can differ
 * in the order of their keys. So a fragment is used only for the text from which it was made. Then equal catalogs give equal
 * bytes.
 */
export class DialectFragments {
  readonly #known: LRUCache<`${string} ${Digest}`, Known>

  constructor(bytesMax: number = FRAGMENT_BYTES_MAX) {
    this.#known = new LRUCache({ maxSize: bytesMax, sizeCalculation: bytesOf })
  }

  /** The number of bytes of all fragments that are kept now. */
  get bytes(): number {
    return this.#known.calculatedSize
  }

  /** The UTF-8 JSON of a definition in a dialect. Undefined if the vendor would refuse the definition. */
  of(entry: CatalogEntry, dialect: DialectRules): Buffer | undefined {
    const key = `${dialect.name} ${entry.digest}` as const
    const { text } = entry.stored
    const known = this.#known.get(key)
    if (known?.text === text) return known.fragment
    const converted = inDialectAs(nameInDialect(entry, dialect), definitionOf(entry), dialect)
    const fragment = 'item' in converted ? keptBytes(JSON.stringify(converted.item)) : undefined
    this.#known.set(key, { text, fragment })
    return fragment
  }
}

/** The name that a tool has in the list for a vendor. */
export function nameInDialect(entry: CatalogEntry, { usesAliases }: DialectRules): string {
  return usesAliases ? aliasOfEntry(entry) : entry.name
}

function bytesOf({ text, fragment }: Known): number {
  return OVERHEAD_BYTES + text.length + (fragment?.length ?? 0)
}
