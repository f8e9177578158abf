import { inDialectAs, listedTool, type DialectRules } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import { fragmentEnd, tailOf } from '../tokens/joined-tokens.ts'
import { atLevel, deferred, DETAIL_LEVELS, type DetailLevel } from '../tokens/detail-levels.ts'
import { readTokens } from '../tokens/stored-tokens.ts'
import type { TokenCounter } from '../tokens/token-counter.ts'
import { definitionOf, type CatalogEntry } from './catalog-entry.ts'
import { nameInDialect, type DialectFragments } from './dialect-fragments.ts'

/** The size of a fragment. `tail` is the end of its text, on which the number of tokens in a list depends. */
export type FragmentSize = { readonly tokens: number; readonly bytes: number; readonly tail: string }

/** The size of a tool at each detail level. */
export type LevelSizes = { readonly [On in DetailLevel]: FragmentSize }

/** The key in `#sizes` for a list without a dialect. */
const PLAIN = ''

/**
 * The JSON texts of tools (fragments) at each detail level, and their sizes. The sizes of a tool are kept as long as its entry.
 */
export class LevelFragments {
  readonly #fragments: Pick<DialectFragments, 'of'>
  readonly #sizes = new WeakMap<CatalogEntry, Map<string, LevelSizes | undefined>>()

  constructor(fragments: Pick<DialectFragments, 'of'>) {
    this.#fragments = fragments
  }

  /** The UTF-8 JSON of a tool at a detail level. Undefined if the vendor would refuse the tool. */
  of(entry: CatalogEntry, dialect: DialectRules | undefined, level: DetailLevel): Buffer | undefined {
    if (level === 'full') return dialect ? this.#fragments.of(entry, dialect) : entry.fragment
    const definition = level === 'deferred' ? deferred(entry.name) : atLevel(definitionOf(entry), level)
    if (!dialect) return Buffer.from(JSON.stringify(listedTool(definition)))
    const rules = level === 'deferred' ? withoutStrict(dialect) : dialect
    const converted = inDialectAs(nameInDialect(entry, dialect), definition, rules)
    return 'item' in converted ? Buffer.from(JSON.stringify(converted.item)) : undefined
  }

  /**
   * Measures the JSON text of a tool at each level. Lets other work run now and then, because the tool may have a million tokens.
   * Undefined if the vendor would refuse the tool.
   */
  *measured(
    entry: CatalogEntry,
    dialect: DialectRules | undefined,
    count: TokenCounter,
  ): Pieces<LevelSizes | undefined> {
    const key = keyOf(dialect)
    const known = this.#sizes.get(entry)
    if (known?.has(key)) return known.get(key)
    const sizes = yield* this.#measure(entry, dialect, count)
    const ofEntry = this.#sizes.get(entry) ?? new Map<string, LevelSizes | undefined>()
    this.#sizes.set(entry, ofEntry.set(key, sizes))
    return sizes
  }

  *#measure(
    entry: CatalogEntry,
    dialect: DialectRules | undefined,
    { steps }: TokenCounter,
  ): Pieces<LevelSizes | undefined> {
    if (!this.of(entry, dialect, 'full')) return undefined
    const stored = dialect ? undefined : readTokens(entry.stored.tokens)
    const sizes: [DetailLevel, FragmentSize][] = []
    for (const level of DETAIL_LEVELS) {
      yield
      const fragment = this.of(entry, dialect, level) ?? Buffer.alloc(0)
      const text = fragment.toString()
      const tokens = stored?.[level] ?? (yield* steps(fragmentEnd(text)))
      sizes.push([level, { tokens, bytes: fragment.length, tail: shared(tailOf(text)) }])
    }
    return Object.fromEntries(sizes) as LevelSizes
  }
}

function keyOf(dialect: DialectRules | undefined): string {
  return dialect?.name ?? PLAIN
}

/** The dialect without its strict mode. In strict mode, a deferred tool could only be called without arguments. */
function withoutStrict(dialect: DialectRules): DialectRules {
  return dialect.fallback ? { ...dialect, ...dialect.fallback } : dialect
}

/** Ends of fragments. Equal ends are stored only once, because most fragments have one of a few ends. */
const TAILS = new Map<string, string>()
/** The most ends that are stored in `TAILS`. */
const TAILS_MAX = 1_000
/** The longest end that is stored in `TAILS`, in UTF-16 code units. Such ends are a few brackets. */
const TAIL_LENGTH_MAX = 32

function shared(tail: string): string {
  const known = TAILS.get(tail)
  if (known !== undefined) return known
  if (tail.length <= TAIL_LENGTH_MAX && TAILS.size < TAILS_MAX) TAILS.set(tail, tail)
  return tail
}
