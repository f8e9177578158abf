import type { CatalogEntry } from '../views/catalog-entry.ts'
import type { LayerIndex } from './layer-index.ts'
import type { ToolFacts } from './twins.ts'

/** The index of a layer, and which tools of this layer are shown by the view that is searched. */
export type SearchedLayer = {
  readonly index: LayerIndex
  readonly shown: { readonly flags: Uint8Array; readonly count: number }
}

/** A tool that fits a query. */
export type Hit = { readonly entry: CatalogEntry; readonly facts: ToolFacts; readonly score: number }

/** The saturation of BM25: with a lower number, further occurrences of a term add less to the score. */
const SATURATION = 1

/**
 * The tools of one layer that a query finds. Their data are in arrays of numbers, because common words are in thousands of tools.
 */
export class LayerHits {
  readonly layer: SearchedLayer
  /** The score of each tool. Tools with a score above 0 are found. */
  readonly scores: Float64Array
  /** For each tool, 1 if a word of the query is outside of its arguments, otherwise 0. */
  readonly #heads: Uint8Array
  /** For each family of tools, the number of the last call of `families` that has counted it. */
  readonly #counted: Uint32Array
  #lookUps = 0

  constructor(layer: SearchedLayer) {
    const { length } = layer.index.entries
    this.layer = layer
    this.scores = new Float64Array(length)
    this.#heads = new Uint8Array(length)
    this.#counted = new Uint32Array(length)
  }

  /**
   * In how many families of shown tools the term occurs. Copies of a tool are one family, so they do not make its words common.
   */
  families(term: string): number {
    const { index, shown } = this.layer
    const tools = index.of(term)?.tools
    if (!tools) return 0
    this.#lookUps += 1
    let count = 0
    for (let at = 0; at < tools.length; at += 1) {
      const tool: number = (tools[at] ?? 0) >>> 1
      const family = index.families[tool] ?? 0
      if (shown.flags[tool] !== 1 || this.#counted[family] === this.#lookUps) continue
      this.#counted[family] = this.#lookUps
      count += 1
    }
    return count
  }

  /**
   * Adds a term of the query to the scores. With `isHead`, marks in `#heads` each tool that has the term outside of its
   * arguments.
   */
  add(term: string, worth: number, isHead: boolean): void {
    const { index, shown } = this.layer
    const postings = index.of(term)
    if (!postings) return
    const { tools, weights } = postings
    const most = worth * (SATURATION + 1)
    for (let at = 0; at < tools.length; at += 1) {
      const posted = tools[at] ?? 0
      const tool = posted >>> 1
      if (shown.flags[tool] !== 1) continue
      const weight = weights[at] ?? 0
      this.scores[tool] = (this.scores[tool] ?? 0) + (most * weight) / (weight + SATURATION)
      if (isHead && (posted & 1) === 1) this.#heads[tool] = 1
    }
  }

  /**
   * Replaces the score of each tool that has a term of the query, or that is one of `others`. A tool with the new score 0 is not
   * found. `isHead` is false for a tool that has words of the query only in its arguments.
   */
  rescore(others: ReadonlySet<CatalogEntry>, scoreOf: (hit: Hit, isHead: boolean) => number): void {
    for (const [tool, entry] of this.layer.index.entries.entries()) {
      const score = this.scores[tool] ?? 0
      if (score === 0 && !others.has(entry)) continue
      const facts = this.layer.index.facts(tool)
      this.scores[tool] = facts ? scoreOf({ entry, facts, score }, this.#heads[tool] === 1) : 0
    }
  }

  /** The found tools with at least this score. */
  *atLeast(least: number): Generator<Hit> {
    for (const [tool, score] of this.scores.entries()) {
      if (score === 0 || score < least) continue
      const entry = this.layer.index.entries[tool]
      const facts = this.layer.index.facts(tool)
      if (entry && facts) yield { entry, facts, score }
    }
  }
}
