import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { grantOf } from '../../../../functions/src/access/principal.ts'
import type { CatalogView, HidingRules } from '../../../../functions/src/tools/catalog/catalog-view.ts'
import { CatalogView as View } from '../../../../functions/src/tools/catalog/catalog-view.ts'
import { LayerSnapshot } from '../../../../functions/src/tools/catalog/layer-snapshot.ts'
import { ToolSearch } from '../../../../functions/src/tools/search/tool-search.ts'
import { bfclDefinitions } from '../../../support/bfcl-definitions.ts'
import { bfclQuestions, recall } from '../../../support/bfcl-questions.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { put } from '../../../support/definition-changes.ts'
import { tool } from '../../../support/tool.ts'

const BFCL = bfclDefinitions('definitions') as readonly ToolDefinition[]
const bfcl = catalogView({ global: BFCL })
const search = new ToolSearch()

function defined(name: string, description: string, more = {}): ToolDefinition {
  return tool(name, description, more) as unknown as ToolDefinition
}

async function names(
  view: CatalogView,
  query: string,
  limit?: number,
  by = search,
): Promise<readonly string[]> {
  return (await by.find(view, 'user', query, limit)).map(({ name }) => name)
}

test.each(['odd', 'even'] as const)(
  'of the %s requests, at least 96 in 100 have their tool among the first five',
  async (half) => {
    const { first, firstFive } = await recall(bfclQuestions(half), (question) => names(bfcl, question, 5))
    expect(firstFive).toBeGreaterThanOrEqual(0.96)
    expect(first).toBeGreaterThanOrEqual(0.76)
  },
)

test('the best of a search with a limit are those of the whole search', async () => {
  for (const { question } of bfclQuestions('odd').slice(0, 40)) {
    const all = await names(bfcl, question)
    expect(await names(bfcl, question, 7)).toEqual(all.slice(0, 7))
  }
})

const MINE = [
  defined('getHTTPStatus', 'Asks a server how it is.'),
  defined('s3_upload', 'Puts a file into a bucket.'),
  defined('погода', 'Показывает погоду в городе.'),
  defined('tianqi', '查询城市的天气预报'),
  defined('taqs', 'يعرض حالة الطقس في المدينة'),
  defined('cafe_finder', 'Trouve un café à Zürich.'),
  defined('who_is', 'Says it.'),
  defined('labelled', 'Nothing.', { category: 'gardening', tags: ['roses'] }),
]
const SCRIPTS: readonly [string, string][] = [
  ['http status', 'getHTTPStatus'],
  ['put it on S3', 's3_upload'],
  ['какая погода', 'погода'],
  ['天气', 'tianqi'],
  ['明天的天气怎么样', 'tianqi'],
  ['الطقس', 'taqs'],
  ['ZÜRICH CAFÉS', 'cafe_finder'],
  ['zurich cafe', 'cafe_finder'],
  ['who is', 'who_is'],
  ['rose', 'labelled'],
  ['gardens', 'labelled'],
]
test.each(SCRIPTS)('%s finds %s', async (query, name) => {
  expect((await names(catalogView({ user: MINE }), query, 1, new ToolSearch()))[0]).toBe(name)
})

function requiring(name: string, required: readonly string[]): ToolDefinition {
  const properties = Object.fromEntries(required.map((argument) => [argument, { type: 'string' }]))
  const parameters = { type: 'object', properties, required }
  const fn = { name, description: 'Tells the ranking of a team.', parameters }
  return { type: 'function', function: fn } as unknown as ToolDefinition
}

/** Two tools, `a` and `b`, that differ only in their arguments. */
function alike(a: readonly string[], b: readonly string[]): CatalogView {
  return catalogView({ user: [requiring('a', a), requiring('b', b)] })
}

const DATED = alike(['date'], ['league'])
const DATES: readonly [string, string][] = [
  ['tell me please the ranking of the team right now', 'b'],
  ['tell me please the ranking of the team in March', 'a'],
  ['tell me please the ranking of the team in 1998', 'a'],
  ['tell me please the ranking of the team in May', 'a'],
  ['tell me please the ranking of the team on 3/12', 'a'],
  ['tell me please the ranking of the team on Nov 3', 'a'],
  // Keywords and other scripts tell nothing about dates.
  ['team ranking', 'a'],
  ['tell me the ranking of the team команда сегодня please', 'a'],
]
test.each(DATES)(
  'a tool that requires a date stands behind if a request names none: %s',
  async (query, name) => {
    expect((await names(DATED, query, 1, new ToolSearch()))[0]).toBe(name)
  },
)

const FILLED = alike(['league'], ['home', 'guest'])
const VALUES: readonly [string, string][] = [
  ['tell me the ranking of the team Chicago Bulls please', 'a'],
  ['tell me the ranking of the team Chicago Bulls against Lakers', 'b'],
  ["tell me the ranking of the team 'bulls' and 'lakers'", 'b'],
  ['Please tell the ranking of the team. Thank you very much. Bye', 'a'],
]
test.each(VALUES)('a tool whose arguments a request can fill stands first: %s', async (query, name) => {
  expect((await names(FILLED, query, 1, new ToolSearch()))[0]).toBe(name)
})

test('a query of 100 kB is read in a time that grows with its length only', async () => {
  for (const part of ["'", '"', 'A ', 'A', "A'", ' ', '. A', '1 '])
    await names(FILLED, part.repeat(100_000 / part.length), 5, new ToolSearch())
}, 10_000)

test('equally good tools stand in the order of their names, whatever the layer', async () => {
  const [a, b, c] = ['b', 'c', 'a'].map((name) => defined(name, 'Waters the roses.'))
  const view = catalogView({
    user: [a as ToolDefinition],
    global: [b as ToolDefinition],
    file: [c as ToolDefinition],
  })
  expect(await names(view, 'water roses', undefined, new ToolSearch())).toEqual(['a', 'b', 'c'])
})

test('a definition that a higher layer replaces is not found', async () => {
  const view = catalogView({ user: [defined('x', 'Feeds cats.')], global: [defined('x', 'Walks dogs.')] })
  expect(await names(view, 'dogs', undefined, new ToolSearch())).toEqual([])
  expect(await names(view, 'cats', undefined, new ToolSearch())).toEqual(['x'])
})

/** Rules that hide these names. */
function hiding(hidden: ReadonlySet<string>): HidingRules {
  const decision = { effect: 'deny', owner: null, rule: null, reason: 'hidden' } as const
  return {
    owned: [hidden],
    isWhole: true,
    revision: String(hidden.size),
    hides: ({ name }) => (hidden.has(name) ? decision : undefined),
  }
}

test('the order of a search is the same whatever hidden tools say', async () => {
  const shown = BFCL.slice(0, 200)
  const hidden = new Set(BFCL.slice(200, 400).map((one) => one.function.name))
  // The hidden tools of the second catalog have the words of all requests, so each word would be common there.
  const words = bfclQuestions()
    .map(({ question }) => question)
    .join(' ')
  const one = catalogView({ global: [...shown, ...[...hidden].map((name) => defined(name, 'Nothing.'))] })
  const other = catalogView({ global: [...shown, ...[...hidden].map((name) => defined(name, words))] })
  const [first, second] = [new ToolSearch(), new ToolSearch()]
  for (const { question } of bfclQuestions('even').slice(0, 60)) {
    const order = await names(one.ruledBy(hiding(hidden)), question, undefined, first)
    expect(order.filter((name) => hidden.has(name))).toEqual([])
    expect(await names(other.ruledBy(hiding(hidden)), question, undefined, second)).toEqual(order)
  }
})

test('a job token finds only its own tools, in the order of a catalog that has no others', async () => {
  const own = BFCL.slice(0, 40)
  const tools = own.flatMap(({ function: { name } }) => {
    const entry = bfcl.winner(name)
    return entry ? [{ name, digest: entry.digest }] : []
  })
  const narrowed = bfcl.narrowedTo(grantOf(tools))
  const alone = catalogView({ global: own })
  const other = new ToolSearch()
  for (const { question } of bfclQuestions('odd').slice(0, 60))
    expect(await names(narrowed, question)).toEqual(await names(alone, question, undefined, other))
})

function changed(
  view: CatalogView,
  definitions: readonly ToolDefinition[],
  deleted: readonly string[],
): CatalogView {
  const read = { revision: 'later', whole: false, deleted, skipped: [] }
  const written = definitions.map((one) => ({ ...put(one), revision: 'later' }))
  const snapshot = atOnce(
    LayerSnapshot.after('global', view.layers.global.snapshot, {
      ...read,
      definitions: written,
    }),
  )
  return new View({ ...view.layers, global: { status: 'fresh', snapshot } })
}

test('an index that was made from the last one gives the same order as a new one', async () => {
  const before = new ToolSearch()
  await names(bfcl, 'area', 5, before)
  const written = [
    defined('math.factorial', 'Waters the roses.'),
    defined('aaa_first', 'Calculate the area of a triangle.'),
  ]
  const later = changed(bfcl, written, ['calc_area_triangle', 'geometry.area_circle'])
  const afresh = new ToolSearch()
  for (const query of ['area of a triangle', 'factorial', 'water the roses', 'area of a circle'])
    expect(await names(later, query, undefined, before)).toEqual(await names(later, query, undefined, afresh))
  expect(await names(later, 'water the roses', 1, before)).toEqual(['math.factorial'])
  expect(before.bytes).toBe(afresh.bytes)
})

test('the index of a large layer gives others a turn, and two searches share it', async () => {
  const many = Array.from({ length: 3_000 }, (_, index): ToolDefinition => {
    const { function: fn } = BFCL[index % BFCL.length] as ToolDefinition
    return { type: 'function', function: { ...fn, name: `${fn.name}_${index}` } }
  })
  const view = catalogView({ user: many })
  const own = new ToolSearch()
  let turns = 0
  const timer = setInterval(() => (turns += 1), 0)
  const [one, two] = await Promise.all([names(view, 'roots', 3, own), names(view, 'roots', 3, own)])
  clearInterval(timer)
  expect(one).toEqual(two)
  expect(turns).toBeGreaterThan(5)
})

test('the indexes of user layers have a bound', async () => {
  const small = new ToolSearch(20_000)
  for (const uid of ['a', 'b', 'c', 'd'])
    await small.find(catalogView({ user: BFCL.slice(0, 10) }), uid, 'area')
  expect(small.bytes).toBeLessThanOrEqual(20_000)
})
