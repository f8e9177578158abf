import { inDialect, type DialectRules, type Digest } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { LongWork } from '../../loop-turn.ts'
import { definitionOf, type CatalogEntry } from './catalog-entry.ts'

/** Memory that a fragment takes in addition to its bytes: its key, its entry in the cache, and the Buffer object. */
const OVERHEAD_BYTES = 400

/** Bytes of fragments that an instance keeps, for all dialects and users together. */
export const FRAGMENT_BYTES_MAX = 32 * 1024 * 1024

/** A fragment and the text that it was made from. */
type Known = { readonly text: string; readonly fragment: Buffer | undefined }

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

  /** The UTF-8 JSON of a definition in a dialect. Undefined if the vendor would refuse the definition. */
  of(entry: CatalogEntry, dialect: DialectRules): Buffer | undefined {
    const key = `${dialect.name} ${entry.digest}` as const
    const { text } = entry.stored
    const known = this.#known.get(key)
    if (known?.text === text) return known.fragment
    const converted = inDialect(definitionOf(entry), dialect)
    const fragment = 'item' in converted ? Buffer.from(JSON.stringify(converted.item)) : undefined
    this.#known.set(key, { text, fragment })
    return fragment
  }
}

function bytesOf({ text, fragment }: Known): number {
  return OVERHEAD_BYTES + text.length + (fragment?.length ?? 0)
}

/** `of` throws it to stop the work, so that other requests get a turn. `whole` always catches it. */
const TURN = new Error('others have a turn')

/** Makes the fragments of one list in several steps. In one step, the fragments of a large layer took 900 ms. */
export class FragmentsInTurns {
  readonly #fragments: Pick<DialectFragments, 'of'>
  readonly #made = new Map<CatalogEntry, Buffer | undefined>()
  readonly #work = new LongWork()

  constructor(fragments: Pick<DialectFragments, 'of'>) {
    this.#fragments = fragments
  }

  of(entry: CatalogEntry, dialect: DialectRules): Buffer | undefined {
    if (!this.#made.has(entry)) {
      if (this.#work.isLong) throw TURN
      this.#made.set(entry, this.#fragments.of(entry, dialect))
    }
    return this.#made.get(entry)
  }

  /** Calls `make`, which calls `of`. Repeats this until all fragments that `make` needs exist. */
  async whole<Value>(make: () => Value): Promise<Value> {
    for (; ; await this.#work.giveTurn()) {
      try {
        return make()
      } catch (error) {
        if (error !== TURN) throw error
      }
    }
  }
}
