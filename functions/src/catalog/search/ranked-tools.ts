import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from '../views/catalog-entry.ts'
import type { CatalogView } from '../views/catalog-view.ts'
import { LayerHits, type Hit, type SearchedLayer } from './layer-hits.ts'
import { shareLeft } from './needs.ts'
import { readQuery, type ReadQuery } from './read-query.ts'
import { commonPhrases, groupTwins } from './twins.ts'
import { splitWords } from './words.ts'

/** A tool and its score. A word that no other tool has adds about 1 to the score. */
export type ScoredTool = { readonly entry: CatalogEntry; readonly score: number }

/** The best tool of a group of near-identical tools. The others, its `twins`, have lower scores. */
export type FoundTool = ScoredTool & { readonly twins: readonly ScoredTool[] }

export type Wanted = {
  /** The most groups in the result. */
  readonly limit?: number | undefined
  /** False for a tool that must not be found. Such a tool still affects the scores of other tools. */
  readonly only?: ((entry: CatalogEntry) => boolean) | undefined
}

/**
 * A number that is added to the number of shown tools, as if the view had so many more tools without a word of the query.
 * Otherwise no word would count as rare in a small view.
 */
const OTHER_TOOLS = 50
/** How much a word counts that begins like a word of the query, or is nearly the same. At most NEAR_MAX such words are used. */
const NEAR = 0.4
/**
 * How many words that begin like a word of the query are used. Every tool with such a word must be read, and such a word says
 * less than the word of the query.
 */
const NEAR_MAX = 10
/** How much each pair of neighboring words counts that the query and the description have in common. */
const COMMON_PHRASE = 0.7
/**
 * The lowest score with which a tool is found if only its arguments have words of the query. A share of the most that one word
 * can be worth.
 */
const FITTING = 0.4
/** How much it counts that the query contains the exact name of a tool. */
const NAMED = 10
/** How many of the best tools are compared with the query by pairs of neighboring words too. */
const REFINED = 200

/**
 * The tools of a view that fit the query, the best first. Equally good tools are ordered by name. Of near-identical tools, only
 * the best is in the result, with the others as its twins. Only tools that the view shows are counted, so the answer reveals
 * nothing about others.
 */
export function* rankedTools(
  view: CatalogView,
  layers: readonly SearchedLayer[],
  query: string,
  { limit = Infinity, only = () => true }: Wanted = {},
): Pieces<readonly FoundTool[]> {
  const read = readQuery(query)
  const hits = layers.map((layer) => new LayerHits(layer))
  const most = yield* lookUp(read, hits)
  keepFitting(view, hits, read, most, only)
  for (let count = Math.max(limit, REFINED); ; count *= 4) {
    yield
    const best = firstOf(hits, count)
    const groups = groupTwins(refined(best, read))
    if (groups.length < limit && best.length === count) continue
    const scored = ({ entry, score }: Hit): ScoredTool => ({ entry, score: score / most })
    return groups.slice(0, limit).map(([first, ...twins]) => ({ ...scored(first), twins: twins.map(scored) }))
  }
}

/**
 * Gives each tool a score by BM25, for which all fields of a tool are one text. Returns the most that one word can add to a
 * score.
 */
function* lookUp({ terms, hints }: ReadQuery, hits: readonly LayerHits[]): Pieces<number> {
  const tools = OTHER_TOOLS + hits.reduce((sum, { layer }) => sum + layer.shown.count, 0)
  const worth = (families: number): number => Math.log(1 + (tools - families + 0.5) / (families + 0.5))
  const used = new Set(terms.map(({ term }) => term))

  /** Adds one term to the scores. Returns false if no shown tool has the term. */
  function* add(term: string, factor: number, isHead: boolean): Pieces<boolean> {
    // A common word of 100,000 tools takes a millisecond, so other requests may run before each word.
    yield
    const families = hits.reduce((sum, layer) => sum + layer.families(term), 0)
    if (families > 0) for (const layer of hits) layer.add(term, factor * worth(families), isHead)
    return families > 0
  }

  /** Adds those of these terms that shown tools have, at most `max` of them. Returns false if there are none. */
  function* addNear(near: readonly string[], factor: number, max: number, isHead = false): Pieces<boolean> {
    let left = max
    for (const term of near) {
      if (left === 0 || used.has(term) || !(yield* add(term, NEAR * factor, isHead))) continue
      used.add(term)
      left -= 1
    }
    return left < max
  }

  const near = (of: 'beginningWith' | 'beginningOf' | 'nearly', term: string): readonly string[] =>
    hits
      .flatMap(({ layer }) => layer.index.vocabulary[of](term))
      .toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))
  for (const { term, factor } of terms) {
    const isKnown = yield* add(term, factor, true)
    if ((yield* addNear(near('beginningWith', term), factor, NEAR_MAX, true)) || isKnown) continue
    // Of the terms with which this term begins, only the longest is added, because it tells most.
    const isFound = yield* addNear(near('beginningOf', term).toReversed(), factor, 1)
    if (!isFound) yield* addNear(near('nearly', term), factor, NEAR_MAX)
  }
  for (const { term, factor } of hints) yield* add(term, factor, false)
  return worth(0)
}

/**
 * Leaves out the tools that the query does not mean. Tools whose names are in the query get higher scores, so that they come
 * first.
 */
function keepFitting(
  view: CatalogView,
  hits: readonly LayerHits[],
  { terms, values, littleTelling, names }: ReadQuery,
  most: number,
  only: (entry: CatalogEntry) => boolean,
): void {
  // Finds names, and aliases in which `__` stands for `:`. For other aliases, a map of all names would be needed. A tool is also
  // found by the words of its name.
  const exact = names.flatMap((name) => [name, name.replace('__', ':')])
  const named = new Set(exact.flatMap((name) => view.winner(name) ?? []).filter((entry) => view.shows(entry)))
  const least = terms.length > 1 ? FITTING * most : 0
  for (const layer of hits)
    layer.rescore(named, ({ entry, facts, score }, isHead) => {
      if (!only(entry)) return 0
      const left = score * shareLeft(facts.needs, values)
      if (named.has(entry)) return left + NAMED * most
      if (littleTelling) return splitWords(entry.name).every((word) => littleTelling.has(word)) ? left : 0
      return isHead || score >= least ? left : 0
    })
}

/** Sorts the best of the tools again, by scores that include common pairs of words. */
function refined(best: readonly Hit[], { phrases }: ReadQuery): readonly Hit[] {
  const better = best
    .slice(0, REFINED)
    .map((one) => ({ ...one, score: one.score + COMMON_PHRASE * commonPhrases(one.facts, phrases) }))
  return [...better.toSorted(byScore), ...best.slice(REFINED)]
}

/** Returns the best `count` tools in order. Sorts only the tools that can be among them. */
function firstOf(layers: readonly LayerHits[], count: number): readonly Hit[] {
  let size = 0
  for (const { scores } of layers) size += scores.length
  const all = new Float64Array(size)
  let at = 0
  for (const { scores } of layers) {
    all.set(scores, at)
    at += scores.length
  }
  const least = size > count ? (all.sort()[size - count] ?? 0) : 0
  return layers
    .flatMap((layer) => [...layer.atLeast(least)])
    .toSorted(byScore)
    .slice(0, count)
}

function byScore(a: Hit, b: Hit): number {
  return b.score - a.score || (a.entry.name < b.entry.name ? -1 : 1)
}
