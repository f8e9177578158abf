import { afterAll, expect, test } from '@jest/globals'
import type { JsonObject, ListedTool, ToolDefinition } from '@toolrack/contract'
import { fileURLToPath } from 'node:url'
import { localAccess } from '../../../../functions/src/hosts/authentication.ts'
import { OWN_DEFS_DIR } from '../../../../functions/src/hosts/config.ts'
import { FileLayer } from '../../../../functions/src/stores/files/file-layer.ts'
import { bfclDefinitions } from '../../../support/bfcl-definitions.ts'
import { by, put } from '../../../support/definition-changes.ts'
import { errorAnswer, type ErrorAnswer } from '../../../support/error-answer.ts'
import { inProcess } from '../../../support/in-process.ts'
import { ROOT } from '../../../support/source-tree.ts'
import { tool } from '../../../support/tool.ts'

/** One of the 753 runs in the service, so that the model's call has a result. */
const RUN = 'get_current_time'
const TIME = {
  type: 'function',
  function: {
    name: RUN,
    description: 'Tell the present date, time and weekday in a time zone.',
    parameters: { type: 'object', properties: { timeZone: { type: 'string' } } },
  },
  runner: { kind: 'builtin', builtin: 'time' },
}

const [TOKEN, APPROVER] = ['t'.repeat(43), 'a'.repeat(43)]
const SHIPPED = fileURLToPath(new URL('functions/workflows/tools/defs', ROOT))

/** The service with its own tools, and the 753 definitions of its user. */
const service = await inProcess(localAccess(TOKEN, undefined, Date.now, APPROVER), [], Date.now, {
  files: (compilers) => new FileLayer(SHIPPED, compilers, { ownFolder: OWN_DEFS_DIR }),
})
afterAll(() => service[Symbol.asyncDispose]())
const definitions = bfclDefinitions('definitions').map((one) => (one.function.name === RUN ? TIME : one))
const changes = definitions.map((one) => put(one as unknown as ToolDefinition))
await service.store.write({ kind: 'user', uid: 'local' }, changes, by('local'))

function ask(path: string, init: RequestInit = {}, token = TOKEN): Promise<Response> {
  return fetch(service.url + path, { ...init, headers: { Authorization: `Bearer ${token}` } })
}

async function list(query = ''): Promise<readonly ListedTool[]> {
  const answer = await ask(`/workflows/tools/list?${query}`)
  if (answer.status !== 200) throw new Error(`the list answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as ListedTool[]
}

async function listedNames(query = ''): Promise<readonly string[]> {
  return (await list(query)).map((listed) => listed.function.name)
}

const CIRCLE = encodeURIComponent("What's the circumference of a circle with a radius of 4 inches?")

async function text(query: string): Promise<string> {
  return (await ask(`/workflows/tools/list?${query}`)).text()
}

async function refused(path: string): Promise<ErrorAnswer> {
  return errorAnswer(await ask(path))
}

test('?q= lists what fits, the best first, and limit cuts the end', async () => {
  const all = await listedNames(`q=${CIRCLE}`)
  expect(all.slice(0, 2).toSorted()).toEqual(['calculate_circumference', 'geometry.circumference'])
  expect(all.length).toBeGreaterThan(20)
  expect(all.length).toBeLessThan(753)
  expect(await listedNames(`q=${CIRCLE}&limit=3`)).toEqual(all.slice(0, 3))
  expect(await listedNames(`%71=${CIRCLE}&limit=3`)).toEqual(all.slice(0, 3))
  expect(await listedNames(`q[]=${CIRCLE}&limit=3`)).toEqual(all.slice(0, 3))
})

test('the other filters narrow a search, and its order stays', async () => {
  const all = await listedNames(`q=${CIRCLE}`)
  const names = [...all.slice(0, 4).toReversed(), 'send_email']
  expect(await listedNames(`q=${CIRCLE}&names=${names.join()}`)).toEqual(all.slice(0, 4))
  const inScope = await listedNames(`q=${CIRCLE}&scope=geometry.*`)
  // A scope is part of the view, so words are counted only over the tools in the scope. The best stays the best.
  expect(inScope[0]).toBe('geometry.circumference')
  expect(inScope.toSorted()).toEqual(all.filter((name) => name.startsWith('geometry.')).toSorted())
  expect(await listedNames(`q=${CIRCLE}&tags=none`)).toEqual([])
})

test('a search has no pages, so it names none and refuses a cursor', async () => {
  const answer = await ask(`/workflows/tools/list?q=${CIRCLE}&limit=2`)
  expect(answer.headers.get('link')).toBeNull()
  expect(await refused(`/workflows/tools/list?q=circle&cursor=ZmlsZS9FQ0hP`)).toMatchObject({
    httpStatus: 400,
    reason: 'PARAMETER_INVALID',
    message: expect.stringContaining('cursor cannot be used with q'),
  })
})

const NOTHING = ['🙂', '+-*/(){}', '%00%01', '。、', 'xyzzyq', 'の']
test.each(NOTHING)('a query without a known word (%s) finds nothing and is no error', async (q) => {
  expect(await listedNames(`q=${q.startsWith('%') ? q : encodeURIComponent(q)}`)).toEqual([])
})

test('a query that is empty is the caller’s fault, and of a long one the beginning and the end count', async () => {
  for (const q of ['', '%20'])
    expect(await refused(`/workflows/tools/list?q=${q}`)).toMatchObject({
      httpStatus: 400,
      message: expect.stringContaining('q is empty'),
    })
  const pasted = `${'+'.repeat(1_000)}and+so+on`
  const best = await listedNames(`q=${CIRCLE}&limit=3`)
  expect(await listedNames(`q=${CIRCLE}${pasted}&limit=3`)).toEqual(best)
  expect(await listedNames(`q=${pasted}+${CIRCLE}&limit=3`)).toEqual(best)
})

test('search_tools cuts a query of 100 kB, and says when a query has no words', async () => {
  const pasted = 'and so on '.repeat(10_000)
  expect(await invoke('search_tools', { query: `factorial of 5: ${pasted}`, limit: 1 })).toMatchObject({
    resultType: 'success',
    data: { tools: [{ name: 'math.factorial' }] },
  })
  expect(await invoke('search_tools', { query: '+-*/' })).toMatchObject({
    resultType: 'success',
    data: { tools: [], note: expect.stringContaining('no word') },
  })
})

async function noted(query: string): Promise<readonly ListedTool[]> {
  return list(`q=${query}&explain=scores`)
}

const TRIANGLE = 'area+of+a+triangle+from+its+base+and+height'
/** The definitions have three tools `calculate_triangle_area`, two of them with a suffix, and `triangle.area` with the same description. */
const TRIANGLES = /^(?:calculate_triangle_area(?:_[0-9a-f]{6})?|triangle\.area)$/

test('near-identical tools stand at the end of a list, and explain=scores names them beside the best', async () => {
  const tools = await noted(TRIANGLE)
  expect(tools.map((one) => one.function.name)).toEqual(await listedNames(`q=${TRIANGLE}`))
  const notes = tools.map((one) => one['x-toolrack'])
  const scores = notes.map((note) => note?.score ?? 0)
  const alone = scores.findIndex((_, at) => at > 0 && (scores[at] ?? 0) > (scores[at - 1] ?? 0))
  const groups = tools.slice(0, alone)
  const twins = tools.slice(alone)
  expect(groups.map((one) => one['x-toolrack']?.score)).toEqual(
    scores.slice(0, alone).toSorted((a, b) => b - a),
  )
  expect(twins.map((one) => one['x-toolrack']?.score)).toEqual(scores.slice(alone).toSorted((a, b) => b - a))
  const first = groups.find((one) => TRIANGLES.test(one.function.name))
  const others = first?.['x-toolrack']?.twins ?? []
  expect(others.length).toBeGreaterThan(0)
  expect(others.every((name) => TRIANGLES.test(name))).toBe(true)
  for (const name of others)
    expect(twins.find((one) => one.function.name === name)?.['x-toolrack']?.twins).toEqual([
      first?.function.name,
    ])
  const five = await listedNames(`q=${TRIANGLE}&limit=5`)
  expect(five).toEqual(groups.slice(0, 5).map((one) => one.function.name))
  expect(five.filter((name) => others.includes(name))).toEqual([])
})

test('what another filter leaves out stands for no tool, and is named beside none', async () => {
  const best = (await noted(TRIANGLE)).find((one) => (one['x-toolrack']?.twins.length ?? 0) > 0)
  const names = best?.['x-toolrack']?.twins ?? []
  expect(names.length).toBeGreaterThan(0)
  const others = await noted(`${TRIANGLE}&names=${names.join()}`)
  expect(others.map((one) => one.function.name).toSorted()).toEqual(names.toSorted())
  expect(others.flatMap((one) => one['x-toolrack']?.twins ?? [])).not.toContain(best?.function.name)
})

test('search_tools has one result for near-identical tools, and load_tools takes the names beside it', async () => {
  const { tools: found } = (await invoke('search_tools', { query: TRIANGLE.replaceAll('+', ' ') }))[
    'data'
  ] as {
    tools: readonly { readonly name: string; readonly twins?: readonly string[] }[]
  }
  expect(found).toHaveLength(5)
  const best = found.find(({ name }) => TRIANGLES.test(name))
  const twins = best?.twins ?? []
  expect(twins.length).toBeGreaterThan(0)
  expect(found.some(({ name }) => twins.includes(name))).toBe(false)
  const { tools: loaded, unknown } = (await invoke('load_tools', { names: [...twins] }))['data'] as JsonObject
  expect({ loaded: (loaded as JsonObject[]).length, unknown }).toEqual({
    loaded: twins.length,
    unknown: undefined,
  })
})

test('only found tools have a score: not the search tools, and not loaded ones', async () => {
  const listed = await noted('factorial&limit=1&with=search&loaded=calculate_gcd')
  expect(listed.map((one) => [one.function.name, one['x-toolrack'] !== undefined])).toEqual([
    ['load_tools', false],
    ['search_tools', false],
    ['math.factorial', true],
    ['calculate_gcd', false],
  ])
  const [plain] = await list('q=factorial&limit=1')
  expect(listed[2]).toEqual({
    ...plain,
    'x-toolrack': { score: expect.any(Number), twins: expect.any(Array) },
  })
})

const UNSCORED: readonly [string, string][] = [
  ['explain=scores', 'needs q'],
  ['q=factorial&explain=score', 'must be scores'],
  ['q=factorial&explain=scores&explain=scores', 'more than once'],
  ['q=factorial&explain=scores&dialect=openai', 'cannot be used with dialect'],
  ['q=factorial&explain=scores&envelope=items', 'envelope=array'],
  ['q=factorial&explain=scores&budget=9', 'budget or tokens'],
  ['q=factorial&explain=scores&tokens=1', 'budget or tokens'],
]
test.each(UNSCORED)('?%s is refused, and says why', async (query, why) => {
  expect(await refused(`/workflows/tools/list?${query}`)).toMatchObject({
    httpStatus: 400,
    reason: 'PARAMETER_INVALID',
    message: expect.stringContaining(why),
  })
})

test('a tool that is asked for by its name or its alias is first, also among near-identical ones', async () => {
  for (const [name, alias] of [
    ['geometry.area_circle_80a82f', 'geometry_area_circle_80a82f'],
    ['calculate_triangle_area_bd921c', 'calculate_triangle_area_bd921c'],
  ]) {
    expect((await listedNames(`q=${name}&limit=1`))[0]).toBe(name)
    expect((await listedNames(`q=please+use+${name}+for+the+area+of+a+triangle&limit=1`))[0]).toBe(name)
    expect((await listedNames(`q=${alias}&limit=1`))[0]).toBe(name)
  }
})

test('a budget keeps what a search puts first', async () => {
  const [best = ''] = await listedNames(`q=${TRIANGLE}`)
  expect((await listedNames(`q=${TRIANGLE}&budget=200`))[0]).toBe(best)
})

test('?with=search puts the two tools first, and without it no list has them', async () => {
  expect(await listedNames('names=[]&with=search')).toEqual(['load_tools', 'search_tools'])
  expect(await listedNames('names=ECHO,GET_TIME&with=search')).toEqual([
    'load_tools',
    'search_tools',
    'ECHO',
    'GET_TIME',
  ])
  const all = await listedNames()
  expect(all).toHaveLength(753 + all.filter((name) => /^[A-Z_]+$/.test(name)).length)
  expect(all).not.toContain('search_tools')
  expect(await listedNames('q=search+tools&limit=20')).not.toContain('search_tools')
  // Who asks for a tool by name gets it.
  expect(await listedNames('names=search_tools')).toEqual(['search_tools'])
})

test('the bytes of a list are a prefix of the list with loaded tools, in every order of loading', async () => {
  const base = 'names=ECHO&with=search'
  const none = await text(base)
  const one = await text(`${base}&loaded=math.factorial`)
  const two = await text(`${base}&loaded=math.factorial,algebra.quadratic_roots`)
  expect(one.startsWith(none.slice(0, -1))).toBe(true)
  expect(two.startsWith(one.slice(0, -1))).toBe(true)
  const names = await listedNames(`${base}&loaded=math.factorial,ECHO,algebra.quadratic_roots`)
  expect(names).toEqual(['load_tools', 'search_tools', 'ECHO', 'math.factorial', 'algebra.quadratic_roots'])
})

test('an unknown loaded name is in X-Tools-Unknown, and pages cannot have loaded tools', async () => {
  const answer = await ask('/workflows/tools/list?names=ECHO&loaded=no_such,GET_TIME')
  expect(answer.headers.get('x-tools-unknown')).toBe('no_such')
  expect(await refused('/workflows/tools/list?loaded=ECHO&limit=2')).toMatchObject({
    httpStatus: 400,
    message: expect.stringContaining('leave out limit'),
  })
})

const DEFERRING = [
  ['anthropic', { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }],
  ['openai-responses', { type: 'tool_search' }],
] as const
test.each(DEFERRING)(
  '%s: ?with=search defers the listed tools in the vendor’s way',
  async (dialect, first) => {
    const plain = await list(`dialect=${dialect}&names=math.factorial,ECHO`)
    const [search, ...tools] = await list(`dialect=${dialect}&names=math.factorial,ECHO&with=search`)
    expect(search).toEqual(first)
    expect(tools).toEqual(plain.map((one) => ({ ...one, defer_loading: true })))
    const loaded = await list(`dialect=${dialect}&names=ECHO&with=search&loaded=math.factorial`)
    expect(plain).toContainEqual(loaded.at(-1))
    const nothing = await list(`dialect=${dialect}&names=[]&with=search`)
    expect(nothing.map((one) => (one as unknown as { name: string }).name)).toEqual([
      'load_tools',
      'search_tools',
    ])
  },
)

async function tools(query: string): Promise<JsonObject[]> {
  return (await list(query)) as unknown as JsonObject[]
}

async function invoke(name: string, args: JsonObject): Promise<JsonObject> {
  const body = JSON.stringify({ name, arguments: args })
  const answer = await ask('/workflows/tools/invoke', { method: 'POST', body })
  return (await answer.json()) as JsonObject
}

async function found(): Promise<string> {
  return JSON.stringify((await invoke('search_tools', { query: 'factorial' }))['data'])
}

test('rules hide tools from searches and from loading, and the order of the others says nothing of them', async () => {
  expect(await found()).toContain('math.factorial')
  const path = '/workflows/rules/user/local'
  const body = JSON.stringify({ rules: [{ effect: 'deny', tool: 'math.*' }] })
  expect((await ask(path, { method: 'PUT', body }, APPROVER)).status).toBe(201)
  try {
    expect(await found()).not.toContain('math.')
    expect(await invoke('load_tools', { names: ['math.factorial'] })).toMatchObject({
      data: { tools: [], unknown: [{ name: 'math.factorial' }] },
    })
    expect(await listedNames('q=factorial')).not.toContain('math.factorial')
  } finally {
    await ask(path, { method: 'DELETE' }, APPROVER)
  }
})

async function define(description: string): Promise<void> {
  const init = { method: 'PUT', body: JSON.stringify(tool('changing_tool', description)) }
  expect((await ask('/workflows/tools/defs/changing_tool', init)).ok).toBe(true)
}

test('a changed definition is found by its new words with the next search', async () => {
  expect(await listedNames('q=zorblax')).toEqual([])
  await define('Polishes a zorblax.')
  expect(await listedNames('q=zorblax')).toEqual(['changing_tool'])
  await define('Polishes a quibble.')
  expect(await listedNames('q=zorblax')).toEqual([])
  expect(await listedNames('q=quibble')).toEqual(['changing_tool'])
})

type Vendor = {
  readonly dialect: string
  /** The message of a model that calls a tool. */
  readonly says: (id: string, name: string, args: JsonObject) => JsonObject
  /** What the model reads of the answer. */
  readonly reads: (message: JsonObject) => unknown
  readonly nameOf: (tool: JsonObject) => unknown
}

const VENDORS: readonly Vendor[] = [
  {
    dialect: 'openai',
    says: (id, name, args) => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
    }),
    reads: ({ content }) => content,
    nameOf: (one) => (one['function'] as JsonObject)['name'],
  },
  {
    dialect: 'anthropic',
    says: (id, name, args) => ({ role: 'assistant', content: [{ type: 'tool_use', id, name, input: args }] }),
    reads: ({ content }) => (content as { content: string }[])[0]?.content,
    nameOf: (one) => one['name'],
  },
]

test.each(VENDORS)(
  '$dialect: a model with only search_tools and load_tools finds and calls one tool of 753',
  async (vendor) => {
    const base = `dialect=${vendor.dialect}&names=[]&with=search`
    /** One turn: the model may only call what the list has, and reads only the messages. */
    async function turn(query: string, name: string, args: JsonObject): Promise<JsonObject> {
      expect((await tools(query)).map(vendor.nameOf)).toContain(name)
      const body = JSON.stringify(vendor.says(`call_${name}`.slice(0, 30), name, args))
      const answer = await ask('/workflows/tools/dispatch', { method: 'POST', body })
      const { messages, pending } = (await answer.json()) as { messages: JsonObject[]; pending: unknown[] }
      expect({ status: answer.status, pending }).toEqual({ status: 200, pending: [] })
      return JSON.parse(vendor.reads(messages[0] ?? {}) as string) as JsonObject
    }
    expect((await tools(base)).map(vendor.nameOf)).toEqual(['load_tools', 'search_tools'])

    const question = 'present local time and weekday in the time zone of Zurich'
    const { tools: offered } = (await turn(base, 'search_tools', { query: question })) as unknown as {
      tools: { name: string; description: string; arguments: string[] }[]
    }
    expect(offered).toHaveLength(5)
    const chosen = offered.find(({ name }) => name === RUN)
    expect(chosen).toEqual({
      name: RUN,
      description: 'Tell the present date, time and weekday in a time zone.',
      arguments: ['timeZone'],
    })

    const { tools: definitions } = await turn(base, 'load_tools', { names: [chosen?.name ?? ''] })
    const loaded = `${base}&loaded=${chosen?.name}`
    expect(definitions).toEqual((await tools(loaded)).slice(2))
    expect((await text(loaded)).startsWith((await text(base)).slice(0, -1))).toBe(true)

    const told = await turn(loaded, RUN, { timeZone: 'Europe/Zurich' })
    expect(told).toMatchObject({ timeZone: 'Europe/Zurich', weekday: expect.stringMatching(/day$/) })
  },
)

test('through a session, search_tools and load_tools see only its selection', async () => {
  const selection = ['search_tools', 'load_tools', 'math.factorial', 'calculate_gcd']
  const made = await ask('/workflows/sessions/searching', {
    method: 'PUT',
    body: JSON.stringify({ selection }),
  })
  expect(made.status).toBe(201)
  const through = async (name: string, args: JsonObject): Promise<unknown> => {
    const body = JSON.stringify({ name, arguments: args })
    const path = '/workflows/tools/invoke?session=searching'
    return ((await (await ask(path, { method: 'POST', body })).json()) as JsonObject)['data']
  }
  const query = 'factorial of a number, greatest common divisor of two numbers'
  expect(await through('search_tools', { query, limit: 20 })).toMatchObject({
    tools: [{ name: 'calculate_gcd' }, { name: 'math.factorial' }],
  })
  expect(await through('load_tools', { names: ['math.gcd', 'calculate_gcd'] })).toMatchObject({
    tools: [{ function: { name: 'calculate_gcd' } }],
    unknown: [{ name: 'math.gcd' }],
  })
  const listed = await listedNames(`session=searching&with=search&q=${encodeURIComponent(query)}`)
  expect(listed).toEqual(['load_tools', 'search_tools', 'calculate_gcd', 'math.factorial'])
})

test('load_tools names what was probably meant, in the names of the model’s vendor', async () => {
  expect(await invoke('load_tools', { names: ['math.factorail'] })).toMatchObject({
    data: { tools: [], unknown: [{ name: 'math.factorail', didYouMean: 'math.factorial' }] },
  })
})
