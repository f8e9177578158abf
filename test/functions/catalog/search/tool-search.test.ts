import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { grantOf } from '../../../../functions/src/access/principal.ts'
import type { CatalogView, HidingRules } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { CatalogView as View } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { LayerSnapshot } from '../../../../functions/src/catalog/views/layer-snapshot.ts'
import { ToolSearch } from '../../../../functions/src/catalog/search/tool-search.ts'
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

type Said = { readonly name: string; readonly score: number; readonly twins: readonly string[] }

/** What a search says of each group. */
async function said(view: CatalogView, query: string, limit?: number, by = search): Promise<readonly Said[]> {
  const found = await by.find(view, 'user', query, { limit })
  return found.map(({ entry: { name }, score, twins }) => ({
    name,
    score,
    twins: twins.map((twin) => twin.entry.name),
  }))
}

async function names(
  view: CatalogView,
  query: string,
  limit?: number,
  by = search,
): Promise<readonly string[]> {
  return (await said(view, query, limit, by)).map(({ name }) => name)
}

test.each([
  ['live-questions', 'live-definitions', 0.74, 0.92],
  ['questions', 'definitions', 0.83, 0.95],
] as const)('of the %s, most have their tool first or among the first five', async (set, of, first, five) => {
  const definitions = bfclDefinitions(of) as readonly ToolDefinition[]
  const view = catalogView({ global: definitions })
  const own = new ToolSearch()
  const found = await recall(bfclQuestions(set), definitions, async (question) =>
    (await said(view, question, 5, own)).map(({ name, twins }) => [name, ...twins]),
  )
  expect(found.first).toBeGreaterThanOrEqual(first)
  expect(found.firstFive).toBeGreaterThanOrEqual(five)
})

const QUESTIONS = bfclQuestions('live-questions').map(({ question }) => question)

test('the best of a search with a limit are those of the whole search', async () => {
  for (const question of QUESTIONS.slice(0, 60)) {
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

const PARTS: readonly [string, string][] = [
  ['rain', 'rainfall_prediction'],
  ['will there be rain in Zurich tomorrow?', 'rainfall_prediction'],
  ['a watercolour', 'kettle'],
  ['tradnslate my letter', 'traducer'],
  ['un traductor', 'traducer'],
]
test.each(PARTS)('%s finds %s by a part of a word, or with a slip', async (query, name) => {
  const view = catalogView({
    user: [
      defined('rainfall_prediction', 'Says how wet it gets.'),
      defined('traducer', 'Translates a text.'),
      defined('kettle', 'Boils water.'),
    ],
  })
  expect((await names(view, query, 1, new ToolSearch()))[0]).toBe(name)
})

test('a whole word counts more than a part', async () => {
  const view = catalogView({ user: [defined('a_trainer', 'Rains.'), defined('b', 'Rainfall.')] })
  expect(await names(view, 'rain', undefined, new ToolSearch())).toEqual(['a_trainer', 'b'])
})

function requiring(name: string, [argument, type]: [string, string]): ToolDefinition {
  const parameters = { type: 'object', properties: { [argument]: { type } }, required: [argument] }
  return { type: 'function', function: { name, description: 'Tells the ranking of a team.', parameters } }
}

/** Two tools, `a` and `b`, that differ only in a required argument. */
function alike(a: [string, string], b: [string, string]): CatalogView {
  return catalogView({ user: [requiring('a', a), requiring('b', b)] })
}

const DATED = alike(['league', 'string'], ['date', 'string'])
const COUNTED = alike(['size', 'integer'], ['league', 'string'])
const VALUES: readonly [CatalogView, string, string][] = [
  [DATED, 'the ranking of the team in March', 'b'],
  [DATED, 'the ranking of the team in 1998', 'b'],
  [DATED, 'the ranking of the team on 3/12', 'b'],
  [DATED, 'the ranking of the team on the 4th', 'b'],
  [DATED, 'the ranking of the team tomorrow', 'b'],
  [DATED, 'the ranking of the team right now', 'a'],
  [DATED, 'the ranking of the team for 12 fans', 'a'],
  [DATED, 'the ranking of the team in may', 'a'],
  [COUNTED, 'please tell me the ranking of the team', 'b'],
  [COUNTED, 'please tell me the ranking of the 3 teams', 'a'],
  [COUNTED, 'please tell me the ranking of three teams', 'a'],
  // Keywords and other scripts say nothing about values.
  [COUNTED, 'ranking of team', 'a'],
  [COUNTED, 'please tell me the ranking of the team команда', 'a'],
  [alike(['date', 'string'], ['league', 'string']), 'tell me the ranking of the team', 'b'],
  [alike(['date', 'string'], ['league', 'string']), 'ranking of team', 'a'],
]
test.each(VALUES.map(([view, request, name]) => [request, name, view] as const))(
  '%s finds %s by the values that the request has',
  async (request, name, view) => {
    expect((await names(view, request, 1, new ToolSearch()))[0]).toBe(name)
  },
)

test('copies of a tool do not make its words common', async () => {
  const copies = Array.from({ length: 30 }, (_, index) => defined(`paint_${index}`, 'Paints fences.'))
  const view = catalogView({ user: [...copies, defined('sail_0', 'Mends boats.')] })
  expect(await names(view, 'fences or boats', undefined, new ToolSearch())).toEqual(['paint_0', 'sail_0'])
})

test('a tool is compared with a bounded number of groups', async () => {
  const words = ['alpha', 'beta', 'gamma', 'delta'].flatMap((one) =>
    ['red', 'green', 'blue', 'grey', 'pink'].map((two) => `Weather ${one} ${two} ${one}${two}`),
  )
  const view = catalogView({
    user: [...words, ...words.map((text) => `${text} again`)].map((text, index) =>
      defined(`tool_${String(index).padStart(2, '0')}`, text),
    ),
  })
  const found = await said(view, 'weather', undefined, new ToolSearch())
  expect(found.filter(({ twins }) => twins.length > 0)).toHaveLength(16)
  expect(found.flatMap(({ name, twins }) => [name, ...twins])).toHaveLength(40)
})

test('a word in quotation marks counts less than another', async () => {
  const view = catalogView({ user: [defined('a', 'Paints fences.'), defined('b', 'Mends boats.')] })
  const by = new ToolSearch()
  expect(await names(view, "paint 'boats' on it", undefined, by)).toEqual(['a', 'b'])
  expect(await names(view, "boats 'paint'", undefined, by)).toEqual(['b', 'a'])
  expect(await names(view, "don't paint the boats' sails", undefined, by)).toEqual(['a', 'b'])
})

const CHATTER = ['hello, how are you?', 'thank you very much!', 'please help me', 'ok', 'lol', 'what is it?']
test.each(CHATTER)('%s fits nothing', async (message) => {
  expect(await names(bfcl, message)).toEqual([])
})

function described(name: string, description: string, said: string): ToolDefinition {
  const parameters = { type: 'object', properties: { it: { type: 'string', description: said } } }
  return { type: 'function', function: { name, description, parameters } }
}

test('a tool fits by its arguments only if they say enough', async () => {
  const long = Array.from({ length: 200 }, (_, index) => `filler${index}`).join(' ')
  const view = catalogView({
    user: [
      described('paint', 'Paints walls.', `The colour. ${long}`),
      described('order', 'Orders food.', 'pizza or burger'),
    ],
  })
  const by = new ToolSearch()
  expect(await names(view, 'my favourite colour is nice', undefined, by)).toEqual([])
  expect(await names(view, 'colour', undefined, by)).toEqual(['paint'])
  expect(await names(view, 'bring me pizza', undefined, by)).toEqual(['order'])
})

test('in a catalog for one topic, a request for the topic finds its tools', async () => {
  const weather = Array.from({ length: 40 }, (_, index) => defined(`w${index}_weather`, 'Tells the weather.'))
  expect(
    await names(catalogView({ user: weather }), 'weather for my trip to Oslo', 5, new ToolSearch()),
  ).not.toEqual([])
})

test('of a question of more than 1,000 characters the beginning and the end count', async () => {
  const view = catalogView({ user: MINE })
  const by = new ToolSearch()
  const pasted = 'and so on '.repeat(300)
  expect(await names(view, `the roses, please: ${pasted}`, undefined, by)).toEqual(['labelled'])
  expect(await names(view, `${pasted} the roses, please`, undefined, by)).toEqual(['labelled'])
  expect(await names(view, `${pasted} the roses, please ${pasted}`, undefined, by)).toEqual([])
})

const WEATHER = 'Retrieves the current weather conditions for a city.'
const ALIKE = [
  defined('get_weather', WEATHER),
  defined('get_weather_2', WEATHER),
  defined('get_weather_af7bb3', 'Retrieves the current weather conditions for a city and a state.'),
  defined('weather.get', WEATHER),
  defined('get_forecast', 'Forecasts the weather.'),
  defined('get_weather_3', 'Deletes all weather that somebody has stored.'),
]

test('near-identical tools have one place, and the others are named beside it', async () => {
  const found = await said(
    catalogView({ user: ALIKE }),
    'current weather in a city',
    undefined,
    new ToolSearch(),
  )
  expect(found.map(({ name, twins }) => [name, twins])).toEqual([
    ['get_weather', ['weather.get', 'get_weather_2', 'get_weather_af7bb3']],
    ['get_weather_3', []],
    ['get_forecast', []],
  ])
})

test('tools with the same short description, or with other names, are no twins', async () => {
  const same = [
    ['create_invoice', 'Calls the API of Acme.'],
    ['delete_order', 'Calls the API of Acme.'],
    ['call_1', ''],
    ['call_2', ''],
    ['send', 'API.'],
    ['send_now', 'API.'],
  ] as const
  const view = catalogView({ user: same.map(([name, description]) => defined(name, description)) })
  for (const { twins } of await said(view, 'call send API', undefined, new ToolSearch()))
    expect(twins).toEqual([])
})

test('a tool that the query names is first, whatever fits better', async () => {
  const view = catalogView({ user: ALIKE })
  const by = new ToolSearch()
  for (const name of ['get_weather_2', 'get_weather_af7bb3', 'weather.get', 'get_weather'])
    for (const query of [
      name,
      `use ${name} to get the current weather in a city`,
      `Is "${name}" the right one?`,
    ])
      expect((await names(view, query, 1, by))[0]).toBe(name)
  // A word is no name.
  expect(
    (
      await names(catalogView({ user: [...ALIKE, defined('city', 'Says.')] }), 'weather in the city', 1, by)
    )[0],
  ).toBe('get_weather')
})

test('a limit counts groups, also if a group has more tools than are compared at once', async () => {
  const many = Array.from({ length: 700 }, (_, index) => defined(`get_weather_${index}`, WEATHER))
  const view = catalogView({ user: [...many, ...ALIKE.slice(4)] })
  expect(await names(view, 'current weather in a city', 3, new ToolSearch())).toEqual([
    'get_weather_0',
    'get_weather_3',
    'get_forecast',
  ])
})

function word(index: number): string {
  return `w${String.fromCharCode(97 + (index % 26))}${'x'.repeat(index % 17)}`
}

test('many tools that are nearly twins take a time that grows with their number only', async () => {
  const many = Array.from({ length: 5_000 }, (_, index) =>
    defined(`tool_${index}`, `Weather ${word(index)} ${word(index * 7)} ${word(index * 31)}`),
  )
  expect(
    (await names(catalogView({ user: many }), 'weather', undefined, new ToolSearch())).length,
  ).toBeGreaterThan(100)
}, 30_000)

test('what must not be found stands for no other', async () => {
  const found = await search.find(catalogView({ user: ALIKE }), 'user', 'current weather in a city', {
    only: ({ name }) => !['get_weather', 'weather.get'].includes(name),
  })
  expect(found[0]).toMatchObject({ entry: { name: 'get_weather_2' } })
  expect(found[0]?.twins.map(({ entry }) => entry.name)).toEqual(['get_weather_af7bb3'])
})

test('a query of 100 kB is read in a time that grows with its length only', async () => {
  for (const part of ["'", '"', 'A ', 'A', "A'", ' ', '. A', '1 ', 'a_', " 'a", '“'])
    await names(catalogView({ user: MINE }), part.repeat(100_000 / part.length), 5, new ToolSearch())
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
  const words = QUESTIONS.join(' ').slice(0, 9_000)
  const one = catalogView({ global: [...shown, ...[...hidden].map((name) => defined(name, 'Nothing.'))] })
  const other = catalogView({ global: [...shown, ...[...hidden].map((name) => defined(name, words))] })
  const [first, second] = [new ToolSearch(), new ToolSearch()]
  const alone = catalogView({ global: shown })
  const third = new ToolSearch()
  for (const question of QUESTIONS.slice(0, 30)) {
    const found = await said(one.ruledBy(hiding(hidden)), question, undefined, first)
    expect(found.flatMap(({ name, twins }) => [name, ...twins]).filter((name) => hidden.has(name))).toEqual(
      [],
    )
    expect(await said(other.ruledBy(hiding(hidden)), question, undefined, second)).toEqual(found)
    expect(await said(alone, question, undefined, third)).toEqual(found)
  }
})

test('parts of words are those of a catalog without the hidden tools', async () => {
  const tools = [defined('a', 'Rain.'), defined('b', 'Rainf.'), defined('c', 'Rainfallishly.')]
  const hides = catalogView({ user: tools }).ruledBy(hiding(new Set(['b', 'c'])))
  const alone = catalogView({ user: tools.slice(0, 1) })
  for (const query of ['rainfalls', 'rainy', 'rai', 'raim']) {
    const found = await said(hides, query, undefined, new ToolSearch())
    expect(found).toEqual(await said(alone, query, undefined, new ToolSearch()))
  }
  expect(await names(hides, 'rainfalls', undefined, new ToolSearch())).toEqual(['a'])
})

test('twins are those of a catalog without the hidden tools', async () => {
  const middle = 'Retrieves the current weather conditions for a city, a state and a country.'
  const tools = [
    defined('get_weather_1', 'Retrieves the current weather conditions for a city.'),
    defined('get_weather_2', middle),
    defined('get_weather_3', 'Retrieves conditions for a state, a country and a planet.'),
  ]
  const hides = catalogView({ user: tools }).ruledBy(hiding(new Set(['get_weather_2'])))
  const alone = catalogView({ user: tools.filter(({ function: { name } }) => name !== 'get_weather_2') })
  const query = 'weather conditions'
  const found = await said(hides, query, undefined, new ToolSearch())
  expect(found.map(({ name, twins }) => [name, twins])).toEqual([
    ['get_weather_1', []],
    ['get_weather_3', []],
  ])
  expect(found).toEqual(await said(alone, query, undefined, new ToolSearch()))
  expect((await said(hides, 'get_weather_2', 1, new ToolSearch()))[0]?.score).toBeLessThan(10)
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
  for (const question of QUESTIONS.slice(0, 60))
    expect(await said(narrowed, question)).toEqual(await said(alone, question, undefined, other))
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
  const small = new ToolSearch(200_000)
  for (const uid of ['a', 'b', 'c', 'd'])
    await small.find(catalogView({ user: BFCL.slice(0, 10) }), uid, 'area')
  expect(small.bytes).toBeLessThanOrEqual(200_000)
  expect(small.bytes).toBeGreaterThan(50_000)
})
