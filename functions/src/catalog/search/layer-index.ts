import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from '../views/catalog-entry.ts'
import type { LayerSnapshot } from '../views/layer-snapshot.ts'
import { indexedTool, type IndexedTool } from './indexed-tool.ts'
import type { ToolFacts } from './twins.ts'
import { Vocabulary } from './vocabulary.ts'

/**
 * The tools that have one term. Each number in `tools` is twice the number of a tool, plus 1 if the tool has the term outside its
 * arguments.
 */
type Postings = { readonly tools: Uint32Array; readonly weights: Float32Array }

/**
 * Bytes of memory besides postings and hashes, as measured. A term takes them for its text and its entries in maps, a tool for
 * its objects.
 */
const BYTES = { term: 930, tool: 300 } as const

/** No terms, for a tool whose postings are copied from the last index. */
const NOTHING_NEW: IndexedTool['terms'] = new Map()

/** The inverted index of one layer at one revision. It never changes. It keeps no definition, only numbers. */
export class LayerIndex {
  readonly entries: readonly CatalogEntry[]
  readonly vocabulary: Vocabulary
  /** For each tool, the number of its family. Tools whose names differ only in numbers have the same family. */
  readonly families: Uint32Array
  readonly bytes: number
  readonly #postings: ReadonlyMap<string, Postings>
  readonly #facts: readonly ToolFacts[]

  private constructor(
    entries: readonly CatalogEntry[],
    postings: ReadonlyMap<string, Postings>,
    vocabulary: Vocabulary,
    facts: readonly ToolFacts[],
    families: Uint32Array,
  ) {
    this.entries = entries
    this.vocabulary = vocabulary
    this.#postings = postings
    this.#facts = facts
    this.families = families
    let bytes = 0
    for (const { tools } of postings.values()) bytes += BYTES.term + 8 * tools.length
    for (const one of facts) bytes += BYTES.tool + one.hashes.byteLength
    this.bytes = bytes
  }

  of(term: string): Postings | undefined {
    return this.#postings.get(term)
  }

  facts(tool: number): ToolFacts | undefined {
    return this.#facts[tool]
  }

  /** The index of a snapshot. It copies the postings of the tools that `previous` already has, and reads only the other tools. */
  static *after(previous: LayerIndex | undefined, snapshot: LayerSnapshot): Pieces<LayerIndex> {
    const entries = snapshot.sorted
    const known = new Map(previous?.entries.map((entry, index) => [entry, index]))
    const places = new Int32Array(previous?.entries.length ?? 0).fill(-1)
    const facts: ToolFacts[] = []
    const families = new Uint32Array(entries.length)
    const numbers = new Map<number, number>()
    const grown = new Map<string, Growing>()
    for (const [index, entry] of entries.entries()) {
      yield
      const before = known.get(entry)
      const kept = before === undefined ? undefined : previous?.facts(before)
      if (before !== undefined && kept) places[before] = index
      const tool = kept ? { facts: kept, terms: NOTHING_NEW } : indexedTool(entry)
      const { family } = tool.facts
      facts.push(tool.facts)
      if (!numbers.has(family)) numbers.set(family, numbers.size)
      families[index] = numbers.get(family) ?? 0
      for (const [term, { weight, isHead }] of tool.terms)
        add(grown, term, 2 * index + (isHead ? 1 : 0), weight)
    }
    if (previous) yield* copyPostings(previous.#postings, places, grown)
    const postings = new Map<string, Postings>()
    const vocabulary = new Vocabulary(postings)
    for (const [term, one] of grown) {
      yield
      postings.set(term, { tools: Uint32Array.from(one.tools), weights: Float32Array.from(one.weights) })
      vocabulary.add(term)
    }
    return new LayerIndex(entries, postings, vocabulary, facts, families)
  }
}

/** The postings of a term, while they are being collected. */
type Growing = { readonly tools: number[]; readonly weights: number[] }

function add(grown: Map<string, Growing>, term: string, tool: number, weight: number): void {
  const one = grown.get(term) ?? { tools: [], weights: [] }
  if (one.tools.length === 0) grown.set(term, one)
  one.tools.push(tool)
  one.weights.push(weight)
}

/**
 * Copies the postings of the tools that the new index also has. `places` maps the old number of a tool to the new one, or to -1
 * if the new index does not have the tool.
 */
function* copyPostings(
  postings: ReadonlyMap<string, Postings>,
  places: Int32Array,
  grown: Map<string, Growing>,
): Pieces<void> {
  for (const [term, { tools, weights }] of postings) {
    yield
    for (const [at, tool] of tools.entries()) {
      const place = places[tool >>> 1] ?? -1
      if (place >= 0) add(grown, term, 2 * place + (tool & 1), weights[at] ?? 0)
    }
  }
}
