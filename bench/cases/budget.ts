import type { ToolDefinition } from '@toolrack/contract'
import assert from 'node:assert/strict'
import { atOnce } from '../../functions/src/loop-turn.ts'
import { CatalogView } from '../../functions/src/catalog/views/catalog-view.ts'
import { countedAnswer } from '../../functions/src/catalog/views/counted-answer.ts'
import { DialectFragments } from '../../functions/src/catalog/views/dialect-fragments.ts'
import { LayerSnapshot } from '../../functions/src/catalog/views/layer-snapshot.ts'
import { LevelFragments } from '../../functions/src/catalog/views/level-fragments.ts'
import { ToolSearch } from '../../functions/src/catalog/search/tool-search.ts'
import { tokenCounter } from '../../functions/src/catalog/tokens/token-counter.ts'
import { NO_RANK } from '../../functions/src/catalog/views/usage-rank.ts'
import { bfclQuestions } from '../../test/support/bfcl-questions.ts'
import { put } from '../../test/support/definition-changes.ts'
import { ALL } from '../../test/support/list-query.ts'
import { bfclDefinitions } from '../definitions/bfcl.ts'
import { makeData } from '../definitions/data-folder.ts'
import type { Comparison } from '../measure/comparison.ts'
import { loadRounds } from '../measure/load-rounds.ts'
import type { Contender, Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import { LIST_PATH, headersFor, saveList } from '../processes/ask.ts'
import { withServers } from '../processes/server-process.ts'

const BUDGET = 4_000
const FOUND = 5
const PLAIN = 'Toolrack, without a budget'
const LARGE = 'Toolrack, the same list with a budget'
const SMALL = `Toolrack, budget=${BUDGET}`

/**
 * Measures a warm list with a budget against the same list without a budget, from one server. Also measures how many of 600 requests
 * still reach their right tool if a budget of 4,000 tokens shortens a list of 753 tools. The service knows no earlier use of the
 * tools, which is the worst case.
 */
export async function budget(folder: string, effort: Effort): Promise<Measured> {
  const definitions = bfclDefinitions()
  const kept = await whatIsKept(definitions)
  return withServers(async (start) => {
    const server = await start('toolrack.ts', { env: await makeData(folder, definitions) })
    await saveList(server, LIST_PATH, definitions, folder)
    const contender = (name: string, path: string): Contender => ({
      name,
      server,
      paths: () => [path],
      headers: headersFor(server.token),
    })
    const contenders = [
      contender(PLAIN, LIST_PATH),
      contender(LARGE, `${LIST_PATH}?budget=1000000000`),
      contender(SMALL, `${LIST_PATH}?budget=${BUDGET}`),
    ]
    const rounds = await loadRounds(contenders, effort)
    return {
      rounds: rounds.map((round) => ({ ...round, [SMALL]: { ...round[SMALL], ...kept } })),
      comparisons: COMPARISONS,
    }
  })
}

async function whatIsKept(definitions: readonly ToolDefinition[]): Promise<Record<string, number>> {
  const stored = definitions.map((definition) => ({ ...put(definition), revision: '1' }))
  const read = { revision: '1', whole: true, definitions: stored, deleted: [], skipped: [] }
  const empty = { status: 'error' } as const
  const global = {
    status: 'fresh',
    snapshot: atOnce(LayerSnapshot.after('global', undefined, read)),
  } as const
  const view = new CatalogView({ user: empty, global, file: empty })
  const counting = {
    levelFragments: new LevelFragments(new DialectFragments()),
    count: await tokenCounter(),
    pinned: new Set<string>(),
    rank: NO_RANK,
  }
  const list = (limit: number | undefined) =>
    atOnce(
      countedAnswer(
        view,
        { ...ALL, budget: limit, countsTokens: true },
        undefined,
        { defaultWorkflow: '' },
        counting,
      ),
    )
  const [whole, budgeted] = [list(undefined), list(BUDGET)]
  assert.ok(budgeted.bill.used <= BUDGET)
  const levels = new Map(budgeted.placed.map(({ entry, level }) => [entry.name, level]))
  const search = new ToolSearch()
  const questions = bfclQuestions()
  const counts = { full: 0, byName: 0, search: 0, reachable: 0 }
  for (const { question, tool } of questions) {
    const level = levels.get(tool)
    const found = (await search.find(view, 'bench', question, { limit: FOUND })).some(({ entry, twins }) =>
      [entry, ...twins.map((twin) => twin.entry)].some(({ name }) => name === tool),
    )
    if (level === 'full' || level === 'short') counts.full += 1
    if (level === 'deferred') counts.byName += 1
    if (found) counts.search += 1
    if (found || level) counts.reachable += 1
  }
  const shares = Object.entries(counts).map(([name, count]) => [name, (100 * count) / questions.length])
  const saved = 100 * (1 - budgeted.bill.used / whole.bill.used)
  return { ...(Object.fromEntries(shares) as Record<string, number>), saved }
}

const share = { unit: '%', ours: SMALL } as const

const COMPARISONS: readonly Comparison[] = [
  {
    what: 'a warm list with a budget, one connection',
    metric: 'p50Us',
    unit: 'µs',
    ours: LARGE,
    against: PLAIN,
    goal: { atMost: 1.2 },
  },
  {
    what: 'the same, 32 connections',
    metric: 'requestsPerSecond',
    unit: 'requests/s',
    ours: LARGE,
    against: PLAIN,
    goal: { atLeast: 1 / 1.2 },
  },
  { ...share, what: '4,000 tokens over 753 tools: tokens saved', metric: 'saved' },
  { ...share, what: 'right tool whole or short', metric: 'full' },
  { ...share, what: 'right tool by name', metric: 'byName' },
  { ...share, what: 'right tool among the first five of the search', metric: 'search' },
  { ...share, what: 'right tool reachable', metric: 'reachable', goal: { atLeast: 95 } },
]
