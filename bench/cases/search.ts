import type { ToolDefinition } from '@toolrack/contract'
import { atOnce } from '../../functions/src/loop-turn.ts'
import { CatalogView } from '../../functions/src/tools/catalog/catalog-view.ts'
import { LayerSnapshot } from '../../functions/src/tools/catalog/layer-snapshot.ts'
import { ToolSearch } from '../../functions/src/tools/search/tool-search.ts'
import { bfclQuestions, recall } from '../../test/support/bfcl-questions.ts'
import { put } from '../../test/support/definition-changes.ts'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { manyDefinitions } from '../definitions/many.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median } from '../measure/median.ts'
import type { Measured } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'

const LARGE = 10_000
const OURS = { odd: 'search, odd requests', even: 'search, even requests' } as const
const PEER = { odd: 'plain BM25, odd requests', even: 'plain BM25, even requests' } as const
const MANY = `search over ${LARGE.toLocaleString('en-US')} tools`
const MANY_PEER = `plain BM25 over ${LARGE.toLocaleString('en-US')} tools`

type Find = (question: string, limit: number) => Promise<readonly string[]>

/**
 * The right tool of 600 requests over 753 tools, and the time of a search over 10,000 tools, against plain BM25 over the same
 * fields. The ranking was chosen on the odd requests.
 */
export async function search(_folder: string, { rounds: count }: Effort): Promise<Measured> {
  const small = bfclDefinitions()
  const large = manyDefinitions(small, LARGE)
  const rounds: Round[] = []
  while (rounds.length < count) {
    const round: Record<string, Record<string, number>> = {}
    const [ours, peer] = [ourSearch(small), plainBm25(small)]
    for (const half of ['odd', 'even'] as const) {
      round[OURS[half]] = await shares(half, ours)
      round[PEER[half]] = await shares(half, peer)
    }
    const oursLarge = ourSearch(large)
    const sinceMs = performance.now()
    await oursLarge('anything', 5)
    const buildMs = performance.now() - sinceMs
    round[MANY] = { buildMs, ...(await searchMs(oursLarge)) }
    round[MANY_PEER] = await searchMs(plainBm25(large))
    rounds.push(round)
  }
  return { rounds, comparisons: COMPARISONS }
}

async function shares(half: 'odd' | 'even', find: Find): Promise<Record<string, number>> {
  const { first, firstFive } = await recall(bfclQuestions(half), (question) => find(question, 5))
  return { first: 100 * first, firstFive: 100 * firstFive }
}

/** The median time of a warm search for five tools. */
async function searchMs(find: Find): Promise<Record<string, number>> {
  const times: number[] = []
  for (const { question } of bfclQuestions('even')) {
    const sinceMs = performance.now()
    await find(question, 5)
    times.push(performance.now() - sinceMs)
  }
  return { searchMs: median(times) }
}

function ourSearch(definitions: readonly ToolDefinition[]): Find {
  const stored = definitions.map((definition) => ({ ...put(definition), revision: '1' }))
  const read = { revision: '1', whole: true, definitions: stored, deleted: [], skipped: [] }
  const empty = { status: 'error' } as const
  const global = {
    status: 'fresh',
    snapshot: atOnce(LayerSnapshot.after('global', undefined, read)),
  } as const
  const view = new CatalogView({ user: empty, global, file: empty })
  const search = new ToolSearch()
  return async (question, limit) =>
    (await search.find(view, 'bench', question, limit)).map(({ name }) => name)
}

/** Okapi BM25 with its usual figures (1.2 and 0.75) over the words of the whole definition, as a text search without tuning does. */
function plainBm25(definitions: readonly ToolDefinition[]): Find {
  const documents = definitions.map(({ function: { name, description, parameters } }) =>
    words([name, description, argumentText(parameters)].join(' ')),
  )
  const average = documents.reduce((sum, document) => sum + document.length, 0) / documents.length
  const postings = new Map<string, Map<number, number>>()
  for (const [index, document] of documents.entries())
    for (const word of document) {
      const posted = postings.get(word) ?? new Map<number, number>()
      posted.set(index, (posted.get(index) ?? 0) + 1)
      postings.set(word, posted)
    }
  return async (question, limit) => {
    const scores = new Map<number, number>()
    for (const word of words(question)) {
      const posted = postings.get(word) ?? new Map<number, number>()
      const rarity = Math.log(1 + (documents.length - posted.size + 0.5) / (posted.size + 0.5))
      for (const [index, count] of posted) {
        const length = 0.25 + (0.75 * (documents[index]?.length ?? 0)) / average
        scores.set(index, (scores.get(index) ?? 0) + (rarity * count * 2.2) / (count + 1.2 * length))
      }
    }
    const named = [...scores].map(([index, score]) => ({
      name: definitions[index]?.function.name ?? '',
      score,
    }))
    const sorted = named.toSorted((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    return sorted.slice(0, limit).map(({ name }) => name)
  }
}

function words(text: string): readonly string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? []
}

/** The names of the arguments, their descriptions and their values. */
function argumentText(parameters: unknown): string {
  const { properties = {} } = parameters as {
    properties?: Record<string, { description?: string; enum?: readonly unknown[] }>
  }
  const texts = Object.entries(properties).map(([name, { description = '', enum: values = [] }]) =>
    [name, description, ...values.map(String)].join(' '),
  )
  return texts.join(' ')
}

const share = { unit: '%' } as const

const COMPARISONS: readonly Comparison[] = [
  ...(['odd', 'even'] as const).flatMap((half): readonly Comparison[] => [
    {
      ...share,
      what: `right tool among the first five, ${half} requests`,
      metric: 'firstFive',
      ours: OURS[half],
      goal: { atLeast: 97 },
    },
    {
      ...share,
      what: `the same, against plain BM25`,
      metric: 'firstFive',
      ours: OURS[half],
      against: PEER[half],
    },
    {
      ...share,
      what: `right tool first, ${half} requests`,
      metric: 'first',
      ours: OURS[half],
      goal: { atLeast: 82 },
    },
    {
      ...share,
      what: `the same, against plain BM25`,
      metric: 'first',
      ours: OURS[half],
      against: PEER[half],
    },
  ]),
  { what: 'a warm search, median', metric: 'searchMs', unit: 'ms', ours: MANY, goal: { atMost: 5 } },
  { what: 'the same, against plain BM25', metric: 'searchMs', unit: 'ms', ours: MANY, against: MANY_PEER },
  { what: 'the first search, with its index', metric: 'buildMs', unit: 'ms', ours: MANY },
]
