import { inDialect, listedTool, type DialectRules } from '@toolrack/contract'
import type { LongWork } from '../../loop-turn.ts'
import { countInTurns } from '../tokens/count-in-turns.ts'
import { fragmentTokens, tailOf } from '../tokens/joined-tokens.ts'
import { atRung, deferred, RUNGS, type Rung } from '../tokens/rungs.ts'
import { readTokens } from '../tokens/stored-tokens.ts'
import type { CountTokens, TokenCounter } from '../tokens/token-counter.ts'
import { definitionOf, type CatalogEntry } from './catalog-entry.ts'
import type { DialectFragments } from './dialect-fragments.ts'

/** The size of a fragment. `tail` is its end, on which the tokens of a join depend. */
export type FragmentSize = { readonly tokens: number; readonly bytes: number; readonly tail: string }

/** The size of a tool on each rung. */
export type RungSizes = { readonly [On in Rung]: FragmentSize }

/** The longest definition that is counted at once, in UTF-8 bytes. It takes a few milliseconds. */
const COUNTED_BYTES_MAX = 8_192

/** The key of a list without a dialect in `#sizes`. */
const PLAIN = ''

/** The fragments of tools on each rung, and their sizes. The sizes of an entry are kept as long as the entry. */
export class RungFragments {
  readonly #fragments: Pick<DialectFragments, 'of'>
  readonly #sizes = new WeakMap<CatalogEntry, Map<string, RungSizes | undefined>>()

  constructor(fragments: Pick<DialectFragments, 'of'>) {
    this.#fragments = fragments
  }

  /** The UTF-8 JSON of a tool on a rung. Undefined if the vendor would refuse the tool. */
  of(entry: CatalogEntry, dialect: DialectRules | undefined, rung: Rung): Buffer | undefined {
    if (rung === 'full') return dialect ? this.#fragments.of(entry, dialect) : entry.fragment
    const definition = rung === 'deferred' ? deferred(entry.name) : atRung(definitionOf(entry), rung)
    if (!dialect) return Buffer.from(JSON.stringify(listedTool(definition)))
    const converted = inDialect(definition, rung === 'deferred' ? withoutStrict(dialect) : dialect)
    return 'item' in converted ? Buffer.from(JSON.stringify(converted.item)) : undefined
  }

  /** Measures a tool whose count would delay other requests, so that `sizes` has it ready. They get turns meanwhile. */
  async measureInTurns(
    entry: CatalogEntry,
    dialect: DialectRules | undefined,
    count: TokenCounter,
    work: LongWork,
  ): Promise<void> {
    if (!this.isLong(entry, dialect)) return
    const counts = new Map<string, number>()
    this.#measure(entry, dialect, (text) => (counts.set(text, 0), 0))
    for (const text of counts.keys()) counts.set(text, await countInTurns(text, count, work))
    this.sizes(entry, dialect, (text) => counts.get(text) ?? count(text))
  }

  /** True if the tool is not measured yet, and too long for `sizes`. */
  isLong(entry: CatalogEntry, dialect: DialectRules | undefined): boolean {
    return entry.fragment.length > COUNTED_BYTES_MAX && !this.#sizes.get(entry)?.has(keyOf(dialect))
  }

  /** The sizes of a tool. Undefined if the vendor would refuse the tool. */
  sizes(entry: CatalogEntry, dialect: DialectRules | undefined, count: CountTokens): RungSizes | undefined {
    const ofEntry = this.#sizes.get(entry) ?? new Map<string, RungSizes | undefined>()
    const key = keyOf(dialect)
    if (!ofEntry.has(key)) this.#sizes.set(entry, ofEntry.set(key, this.#measure(entry, dialect, count)))
    return ofEntry.get(key)
  }

  #measure(
    entry: CatalogEntry,
    dialect: DialectRules | undefined,
    count: CountTokens,
  ): RungSizes | undefined {
    if (!this.of(entry, dialect, 'full')) return undefined
    const stored = dialect ? undefined : readTokens(entry.stored.tokens)
    const sizes = RUNGS.map((rung) => {
      const fragment = this.of(entry, dialect, rung) ?? Buffer.alloc(0)
      const text = fragment.toString()
      const tokens = stored?.[rung] ?? fragmentTokens(text, count)
      return [rung, { tokens, bytes: fragment.length, tail: shared(tailOf(text)) }] as const
    })
    return Object.fromEntries(sizes) as RungSizes
  }
}

function keyOf(dialect: DialectRules | undefined): string {
  return dialect?.name ?? PLAIN
}

/** Strict mode would allow a call of a deferred tool only without arguments. */
function withoutStrict(dialect: DialectRules): DialectRules {
  return dialect.fallback ? { ...dialect, ...dialect.fallback } : dialect
}

/** Most fragments have one of a few tails. */
const TAILS = new Map<string, string>()
const TAILS_MAX = 1_000
const TAIL_LENGTH_MAX = 32

function shared(tail: string): string {
  const known = TAILS.get(tail)
  if (known !== undefined) return known
  if (tail.length <= TAIL_LENGTH_MAX && TAILS.size < TAILS_MAX) TAILS.set(tail, tail)
  return tail
}
