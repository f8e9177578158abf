import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import { phrasesIn } from './indexed-tool.ts'
import type { LayerIndex, ToolFacts } from './layer-index.ts'
import { readQuery, type ReadQuery } from './read-query.ts'

/** How fast more occurrences of a term count less. */
const SATURATION = 0.5
/** What it is worth if the query has every term of the description. A part of them is worth the same part. */
const WHOLE_DESCRIPTION = 6
/** What each required number costs that the query does not have, for at most NUMBERS_MAX of them. */
const MISSING_NUMBER = 3
const NUMBERS_MAX = 3
/** What two neighbouring words are worth that the query and the description have in common. */
const COMMON_PHRASE = 0.6

/*
 * The next two were fitted by logistic regression over the first 30 tools of each request of one half of real requests
 * (docs/decisions/0034-search.md).
 */
/** What a required date costs if a whole request names none. */
const MISSING_DATE = 7
/** What each value of a whole request is worth that can fill a required argument, for at most VALUES_MAX of them. */
const FILLED_ARGUMENT = 1.6
const VALUES_MAX = 4

/** How many of the best tools are compared with the query word by word. */
const REFINED = 200

/** A tool that has a term of the query. */
type Found = { readonly entry: CatalogEntry; readonly facts: ToolFacts; readonly score: number }

/**
 * The tools of a view that have a term of the query, the best first; equally good ones in the order of their names. Everything is
 * counted over the tools that the view shows, so the order tells nothing about others. `indexes` has an index for each layer.
 */
export function* rankedEntries(
  view: CatalogView,
  indexes: readonly LayerIndex[],
  query: string,
  limit = Infinity,
): Pieces<readonly CatalogEntry[]> {
  const read = readQuery(query)
  const best = firstOf(yield* foundTools(view, indexes, read), Math.max(limit, REFINED))
  const phrases = new Set(phrasesIn(read.words))
  const refined = best.slice(0, REFINED).map((one) => ({ ...one, score: one.score + common(one, phrases) }))
  const ranked = [...refined.toSorted(byScore), ...best.slice(REFINED)]
  return ranked.slice(0, limit).map(({ entry }) => entry)
}

function common({ facts }: Found, phrases: ReadonlySet<number>): number {
  let count = 0
  for (const phrase of facts.phrases) if (phrases.has(phrase)) count += 1
  return COMMON_PHRASE * count
}

/** BM25 over the fields of a tool, with one saturation for all of them. */
function* foundTools(
  view: CatalogView,
  indexes: readonly LayerIndex[],
  read: ReadQuery,
): Pieces<readonly LayerHits[]> {
  const layers = indexes.map((index) => new LayerHits(view, index))
  const count = Object.values(view.layers).reduce(
    (sum, { snapshot }) => sum + (snapshot?.byName.size ?? 0),
    0,
  )
  for (const { term, factor, isWritten } of read.terms) {
    // Of 100,000 tools, a common word takes a millisecond.
    yield
    for (const layer of layers) yield* layer.look(term)
    const rarity = layers.reduce((sum, layer) => sum + layer.count(term), 0)
    if (rarity === 0) continue
    const worth = factor * Math.log(1 + (Math.max(0, count - rarity) + 0.5) / (rarity + 0.5))
    for (const layer of layers) layer.add(term, worth, isWritten)
  }
  for (const layer of layers) layer.addWhole(read)
  return layers
}

/** What the description as a whole and the required arguments say. `covered` terms of the description are in the query. */
function ofTheWhole(
  { descriptionTerms, required, requiredNumbers, requiresDate }: ToolFacts,
  covered: number,
  { numbers, values, mayNameDate, isRequest }: ReadQuery,
): number {
  const described = descriptionTerms === 0 ? 0 : (WHOLE_DESCRIPTION * covered) / descriptionTerms
  if (!isRequest) return described
  const missing = Math.min(NUMBERS_MAX, Math.max(0, requiredNumbers - numbers))
  const filled = Math.min(VALUES_MAX, required, values)
  const date = requiresDate && !mayNameDate ? MISSING_DATE : 0
  return described - MISSING_NUMBER * missing - date + FILLED_ARGUMENT * filled
}

/** What is known of a tool in one search: nothing yet, that the view does not show it, or that it has a term. */
const [UNSEEN, HIDDEN, SHOWN] = [0, 1, 2]

/** The tools of one layer that were found so far. Arrays of numbers, because common words are in thousands of tools. */
class LayerHits {
  readonly index: LayerIndex
  readonly scores: Float64Array
  readonly #covered: Uint16Array
  readonly #seen: Uint8Array
  readonly #view: CatalogView

  constructor(view: CatalogView, index: LayerIndex) {
    const { length } = index.entries
    this.index = index
    this.#view = view
    this.scores = new Float64Array(length)
    this.#covered = new Uint16Array(length)
    this.#seen = new Uint8Array(length)
  }

  /** Finds out which of the tools that have the term the view shows. This takes long if many rules hide tools. */
  *look(term: string): Pieces<void> {
    for (const posted of this.index.of(term)?.tools ?? []) {
      const tool = posted >>> 1
      if (this.#seen[tool] !== UNSEEN) continue
      const entry = this.index.entries[tool]
      this.#seen[tool] = entry && this.#view.shows(entry) ? SHOWN : HIDDEN
      yield
    }
  }

  /** How many tools that the view shows have the term. `look` comes first, as for `add`. */
  count(term: string): number {
    const tools = this.index.of(term)?.tools
    let count = 0
    if (tools)
      for (let at = 0; at < tools.length; at += 1)
        if (this.#seen[(tools[at] ?? 0) >>> 1] === SHOWN) count += 1
    return count
  }

  add(term: string, worth: number, isWritten: boolean): void {
    const postings = this.index.of(term)
    if (!postings) return
    const { tools, weights } = postings
    const most = worth * (SATURATION + 1)
    for (let at = 0; at < tools.length; at += 1) {
      const posted = tools[at] ?? 0
      const tool = posted >>> 1
      if (this.#seen[tool] !== SHOWN) continue
      const weight = weights[at] ?? 0
      this.scores[tool] = (this.scores[tool] ?? 0) + (most * weight) / (weight + SATURATION)
      if (isWritten) this.#covered[tool] = (this.#covered[tool] ?? 0) + (posted & 1)
    }
  }

  addWhole(read: ReadQuery): void {
    this.#seen.forEach((seen, tool) => {
      const facts = seen === SHOWN ? this.index.facts(tool) : undefined
      const more = facts ? ofTheWhole(facts, this.#covered[tool] ?? 0, read) : -Infinity
      this.scores[tool] = (this.scores[tool] ?? 0) + more
    })
  }

  /** The tools with at least this score. A tool without a term of the query has none. */
  *atLeast(score: number): Generator<Found> {
    for (const [tool, own] of this.scores.entries()) {
      if (own === -Infinity || own < score) continue
      const entry = this.index.entries[tool]
      const facts = this.index.facts(tool)
      if (entry && facts) yield { entry, facts, score: own }
    }
  }
}

/** The best `count`, in order. Sorts only those that can be among them. */
function firstOf(layers: readonly LayerHits[], count: number): readonly Found[] {
  let size = 0
  for (const { scores } of layers) size += scores.length
  const all = new Float64Array(size)
  let at = 0
  for (const { scores } of layers) {
    all.set(scores, at)
    at += scores.length
  }
  const least = size > count ? (all.sort()[size - count] ?? -Infinity) : -Infinity
  return layers
    .flatMap((layer) => [...layer.atLeast(least)])
    .toSorted(byScore)
    .slice(0, count)
}

function byScore(a: Found, b: Found): number {
  return b.score - a.score || (a.entry.name < b.entry.name ? -1 : 1)
}
