import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { LayerSnapshot } from '../catalog/layer-snapshot.ts'
import { indexedTool, type IndexedTool } from './indexed-tool.ts'

/** The tools that have one term. `tools` has twice the number of the tool, plus 1 if the description has the term. */
type Postings = { readonly tools: Uint32Array; readonly weights: Float32Array }

/** Bytes of a term besides its postings, as measured: its text, its place in the map, and its objects. */
const TERM_BYTES = 400

/** The inverted index of one layer at one revision. It never changes. It keeps no definition, only numbers. */
export class LayerIndex {
  readonly entries: readonly CatalogEntry[]
  readonly #postings: ReadonlyMap<string, Postings>
  readonly #facts: readonly ToolFacts[]
  readonly bytes: number

  private constructor(
    entries: readonly CatalogEntry[],
    postings: ReadonlyMap<string, Postings>,
    facts: readonly ToolFacts[],
  ) {
    this.entries = entries
    this.#postings = postings
    this.#facts = facts
    let bytes = 0
    for (const { tools } of postings.values()) bytes += TERM_BYTES + 8 * tools.length
    for (const { phrases } of facts) bytes += 150 + phrases.byteLength
    this.bytes = bytes
  }

  of(term: string): Postings | undefined {
    return this.#postings.get(term)
  }

  facts(tool: number): ToolFacts | undefined {
    return this.#facts[tool]
  }

  /** The index of a snapshot. Reads only the tools that `previous` does not have; the others are copied. */
  static *after(previous: LayerIndex | undefined, snapshot: LayerSnapshot): Pieces<LayerIndex> {
    const entries = snapshot.sorted
    const known = new Map(previous?.entries.map((entry, index) => [entry, index]))
    const places = new Int32Array(previous?.entries.length ?? 0).fill(-1)
    const facts: ToolFacts[] = []
    const grown = new Map<string, Grown>()
    for (const [index, entry] of entries.entries()) {
      yield
      const before = known.get(entry)
      const kept = before === undefined ? undefined : previous?.facts(before)
      if (before !== undefined && kept) {
        places[before] = index
        facts.push(kept)
        continue
      }
      const tool = indexedTool(entry)
      facts.push(factsOf(tool))
      for (const [term, { weight, isInDescription }] of tool.terms)
        grownOf(grown, term).add(2 * index + (isInDescription ? 1 : 0), weight)
    }
    if (previous) yield* copyPostings(previous.#postings, places, grown)
    const postings = new Map<string, Postings>()
    for (const [term, one] of grown) {
      yield
      postings.set(term, one.done())
    }
    return new LayerIndex(entries, postings, facts)
  }
}

/** What is known of a tool besides its terms. */
export type ToolFacts = Omit<IndexedTool, 'terms' | 'phrases'> & {
  readonly phrases: Uint32Array
}

function factsOf(tool: IndexedTool): ToolFacts {
  const { descriptionTerms, required, requiredNumbers, requiresDate } = tool
  const phrases = Uint32Array.from(tool.phrases)
  return { descriptionTerms, required, requiredNumbers, requiresDate, phrases }
}

/** Postings while they are collected. */
class Grown {
  readonly #tools: number[] = []
  readonly #weights: number[] = []

  add(tool: number, weight: number): void {
    this.#tools.push(tool)
    this.#weights.push(weight)
  }

  done(): Postings {
    return { tools: new Uint32Array(this.#tools), weights: new Float32Array(this.#weights) }
  }
}

function grownOf(grown: Map<string, Grown>, term: string): Grown {
  const known = grown.get(term)
  if (known) return known
  const made = new Grown()
  grown.set(term, made)
  return made
}

/** Copies the postings of the tools that are still there. `places` has their new numbers, and -1 for the others. */
function* copyPostings(
  postings: ReadonlyMap<string, Postings>,
  places: Int32Array,
  grown: Map<string, Grown>,
): Pieces<void> {
  for (const [term, { tools, weights }] of postings) {
    yield
    for (const [at, tool] of tools.entries()) {
      const place = places[tool >>> 1] ?? -1
      if (place >= 0) grownOf(grown, term).add(2 * place + (tool & 1), weights[at] ?? 0)
    }
  }
}
