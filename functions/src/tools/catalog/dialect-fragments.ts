import type { DialectFault, DialectRules, Digest, ToolDefinition } from '@toolrack/contract'
import { inDialect } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { definitionOf, type CatalogEntry } from './catalog-entry.ts'

/** The UTF-8 JSON of a definition in a dialect, or the reason why there is none. */
export type DialectFragment = { readonly fragment: Buffer } | { readonly fault: DialectFault }

/** Memory that a fragment takes in addition to its bytes: its key, its entry in the cache, and the Buffer object. */
const OVERHEAD_BYTES = 400

/** Bytes of fragments that an instance keeps, for all dialects and users together. */
export const FRAGMENT_BYTES_MAX = 32 * 1024 * 1024

/** A fragment and the text that it was made from. */
type Known = { readonly text: string; readonly made: DialectFragment }

/**
 * Keeps converted definitions, up to a bound of memory. Definitions with the same digest can differ in the order of their
 * keys. So a fragment is used only for the text that it was made from. Then equal catalogs give equal bytes.
 */
export class DialectFragments {
  readonly #known: LRUCache<`${string} ${Digest}`, Known>

  constructor(bytesMax: number = FRAGMENT_BYTES_MAX) {
    this.#known = new LRUCache({ maxSize: bytesMax, sizeCalculation: bytesOf })
  }

  /** The bytes that are kept at present. */
  get bytes(): number {
    return this.#known.calculatedSize
  }

  of(entry: CatalogEntry, dialect: DialectRules): DialectFragment {
    const key = `${dialect.name} ${entry.digest}` as const
    const { text } = entry.stored
    const known = this.#known.get(key)
    if (known?.text === text) return known.made
    const made = convert(definitionOf(entry), dialect)
    this.#known.set(key, { text, made })
    return made
  }
}

function convert(definition: ToolDefinition, dialect: DialectRules): DialectFragment {
  const converted = inDialect(definition, dialect)
  if ('item' in converted) return { fragment: Buffer.from(JSON.stringify(converted.item)) }
  return { fault: { pointer: converted.pointer, reason: converted.reason } }
}

function bytesOf({ text, made }: Known): number {
  return OVERHEAD_BYTES + text.length + ('fragment' in made ? made.fragment.length : 0)
}
