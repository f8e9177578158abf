import type { ToolDefinition } from '@toolrack/contract'
import { atOnce } from '../../functions/src/loop-turn.ts'
import { CatalogView } from '../../functions/src/catalog/views/catalog-view.ts'
import { LayerSnapshot } from '../../functions/src/catalog/views/layer-snapshot.ts'
import { ToolSearch } from '../../functions/src/catalog/search/tool-search.ts'
import { bfclQuestions, recall, sameTools, type Places } from '../../test/support/bfcl-questions.ts'
import { put } from '../../test/support/definition-changes.ts'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { CHATTER } from '../definitions/chatter.ts'
import { manyDefinitions } from '../definitions/many.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import { median } from '../measure/median.ts'
import type { Measured } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'

const LARGE = 10_000
const MANY = `search over ${LARGE.toLocaleString('en-US')} tools`
const MANY_PEER = `plain BM25 over ${LARGE.toLocaleString('en-US')} tools`
const CHAT = 'search, 60 messages for no tool'

type Find = (question: string, limit: number) => Promise<Places>

/** The sets of requests. Each set has the tools that its requests search. The ranking was tuned with the requests of real users. */
const SETS = ['requests of real users', 'the same among all tools', 'requests of the collection'] as const
type Set = (typeof SETS)[number]

function definitionsOf(set: Set): readonly ToolDefinition[] {
  if (set === 'requests of the collection') return bfclDefinitions()
  const live = bfclDefinitions('live-definitions')
  if (set === 'requests of real users') return live
  const names = new Set(live.map((one) => one.function.name))
  return [...live, ...bfclDefinitions().filter((one) => !names.has(one.function.name))]
}

const ours = (set: Set): string => `search, ${set}`
const peer = (set: Set): string => `plain BM25, ${set}`
const grouped = (set: Set): string => `plain BM25 with one place for near-identical tools, ${set}`

/**
 * Measures how often a search finds the right tool of a request, and the time of a search over 10,000 tools. The peer is plain BM25
 * over the same fields. Near-identical tools count as one tool.
 */
export async function search(_folder: string, { rounds: count }: Effort): Promise<Measured> {
  const large = manyDefinitions(bfclDefinitions(), LARGE)
  const rounds: Round[] = []
  while (rounds.length < count) {
    const round: Record<string, Record<string, number>> = {}
    for (const set of SETS) {
      const definitions = definitionsOf(set)
      const bm25 = plainBm25(definitions)
      round[ours(set)] = await shares(set, definitions, ourSearch(definitions))
      round[peer(set)] = await shares(set, definitions, bm25)
      round[grouped(set)] = await shares(set, definitions, onePlaceEach(definitions, bm25))
    }
    round[CHAT] = { nothing: await unanswered(ourSearch(definitionsOf('the same among all tools'))) }
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

async function shares(
  set: Set,
  definitions: readonly ToolDefinition[],
  find: Find,
): Promise<Record<string, number>> {
  const questions = bfclQuestions(set === 'requests of the collection' ? 'questions' : 'live-questions')
  const { first, firstFive } = await recall(questions, definitions, (question) => find(question, 5))
  return { first: 100 * first, firstFive: 100 * firstFive }
}

/** The percentage of the messages of CHATTER, which need no tool, for which the search finds no tool. */
async function unanswered(find: Find): Promise<number> {
  const answers = await Promise.all(CHATTER.map((message) => find(message, 5)))
  return (100 * answers.filter((places) => places.length === 0).length) / CHATTER.length
}

/** The median time of a warm search for five tools. */
async function searchMs(find: Find): Promise<Record<string, number>> {
  const times: number[] = []
  for (const { question } of bfclQuestions('live-questions')) {
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
  const own = new ToolSearch()
  return async (question, limit) =>
    (await own.find(view, 'bench', question, { limit })).map(({ entry, twins }) => [
      entry.name,
      ...twins.map((twin) => twin.entry.name),
    ])
}

/** A text search without tuning: Okapi BM25 with its usual parameters (1.2 and 0.75) over the words of the whole definition. */
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
    return sorted.slice(0, limit).map(({ name }) => [name])
  }
}

/** Changes a search, so that tools which a person cannot tell apart have only one place in its list. */
function onePlaceEach(definitions: readonly ToolDefinition[], find: Find): Find {
  const areSame = sameTools(definitions)
  return async (question, limit) => {
    const places: string[] = []
    for (const [name = ''] of await find(question, Infinity))
      if (!places.some((place) => areSame(place, name))) places.push(name)
    return places.slice(0, limit).map((name) => [name])
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

const GOALS = { first: { atLeast: 76 }, firstFive: { atLeast: 92 } } as const
const METRICS = { first: 'right tool first', firstFive: 'right tool among the first five' } as const

const COMPARISONS: readonly Comparison[] = [
  ...SETS.flatMap((set) =>
    (['first', 'firstFive'] as const).flatMap((metric): readonly Comparison[] => {
      const one = { metric, unit: '%', ours: ours(set) } as const
      const isGoal = set === 'requests of real users'
      return [
        { ...one, what: `${METRICS[metric]}, ${set}`, ...(isGoal && { goal: GOALS[metric] }) },
        { ...one, what: 'the same, against plain BM25', against: peer(set), goal: { atLeast: 1 } },
        { ...one, what: 'against plain BM25 with one place for near-identical tools', against: grouped(set) },
      ]
    }),
  ),
  { what: 'messages for no tool that find none', metric: 'nothing', unit: '%', ours: CHAT },
  { what: 'a warm search, median', metric: 'searchMs', unit: 'ms', ours: MANY, goal: { atMost: 5 } },
  { what: 'the same, against plain BM25', metric: 'searchMs', unit: 'ms', ours: MANY, against: MANY_PEER },
  { what: 'the first search, with its index', metric: 'buildMs', unit: 'ms', ours: MANY },
]
