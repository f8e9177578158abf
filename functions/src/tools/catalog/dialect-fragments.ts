import type { Dialect, Digest, Obstacle, ToolDefinition } from '@toolrack/contract'
import { inDialect } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { definitionOf } from './catalog-entry.ts'
import type { CatalogEntry } from './catalog-entry.ts'

/** A definition in a dialect: the UTF-8 JSON of its part of the list, or why it has none. */
export type DialectFragment = { readonly fragment: Buffer } | { readonly obstacle: Obstacle }

/** What is kept beside the bytes of a fragment: its key, its place in the cache, the Buffer itself. */
const OVERHEAD_BYTES = 400

/** Bytes of fragments that an instance keeps, of all dialects and users together. */
export const FRAGMENT_BYTES_MAX = 32 * 1024 * 1024

/** A fragment and the text that it was made from. */
type Known = { readonly text: string; readonly made: DialectFragment }

/**
 * Definitions in dialects, made when they are first asked for and kept within a bound. Definitions of one digest show
 * the same, but not always in the same order of keys: one is kept at a time, so that equal catalogs give equal bytes.
 */
export class DialectFragments {
  readonly #known: LRUCache<`${Dialect} ${Digest}`, Known>

  constructor(bytesMax: number = FRAGMENT_BYTES_MAX) {
    this.#known = new LRUCache({ maxSize: bytesMax, sizeCalculation: bytesOf })
  }

  /** Bytes that are kept now. */
  get bytes(): number {
    return this.#known.calculatedSize
  }

  of(entry: CatalogEntry, dialect: Dialect): DialectFragment {
    const key = `${dialect} ${entry.digest}` as const
    const { text } = entry.stored
    const known = this.#known.get(key)
    if (known?.text === text) return known.made
    const made = convert(definitionOf(entry), dialect)
    this.#known.set(key, { text, made })
    return made
  }
}

function convert(definition: ToolDefinition, dialect: Dialect): DialectFragment {
  const converted = inDialect(definition, dialect)
  if ('item' in converted) return { fragment: Buffer.from(JSON.stringify(converted.item)) }
  return { obstacle: { pointer: converted.pointer, reason: converted.reason } }
}

function bytesOf({ text, made }: Known): number {
  return OVERHEAD_BYTES + text.length + ('fragment' in made ? made.fragment.length : 0)
}
