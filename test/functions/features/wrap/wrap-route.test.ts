import { expect, test } from '@jest/globals'
import { definitionDigest, type ToolDefinition } from '@toolrack/contract'
import { tokenCounter } from '../../../../functions/src/catalog/tokens/token-counter.ts'
import { routeService, type Asker } from '../../../support/route-service.ts'

const files = ['aaa', 'bbb', 'web_post', 'web_search'].map((name): ToolDefinition => {
  const parameters = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }
  return {
    type: 'function',
    function: { name, description: `Does ${name}. ${'It does it very well. '.repeat(20)}`, parameters },
    ...(name.startsWith('web') && { category: 'web' }),
  }
})
const granted = files.filter((tool) => tool.function.name === 'aaa')
const ask = await routeService(
  files,
  {},
  granted.map((tool) => ({ name: tool.function.name, digest: definitionDigest(tool) })),
)
const finders = ['load_tools', 'search_tools'].map((name): ToolDefinition => {
  const parameters = { type: 'object', properties: {}, required: [] }
  const runner = { kind: 'builtin', builtin: name } as const
  return { type: 'function', function: { name, description: `Does ${name}.`, parameters }, runner }
})
const askWithFinders = await routeService([...files, ...finders])
const count = await tokenCounter()

type Texts = { readonly text: string; readonly system: string; readonly context: string }
type Bill = {
  readonly total: number
  readonly layers: readonly { name: string; tokens: number; outcome: string }[]
  readonly tools: object
}
const SYSTEM = { name: 'system', text: 'You are kind.', priority: 0 }
const HISTORY = { name: 'history', text: 'Ann said hello. You said hello.', priority: 90 }

async function wrap(body: object, who: Asker = 'ann', through = ask) {
  const answer = await through(who, 'POST /tools/wrap', { body: { layers: [], ...body } })
  expect(answer.status).toBe(200)
  const { tools, bill, ...texts } = answer.body as Texts & { tools: object[]; bill: Bill }
  const outcomes = bill.layers.map(({ name, outcome }) => `${name} ${outcome}`)
  return { ...texts, tools, names: namesIn(tools), bill, outcomes, headers: answer.headers }
}

function namesIn(tools: readonly object[]): readonly string[] {
  return tools
    .flatMap((tool) => ('functionDeclarations' in tool ? (tool.functionDeclarations as object[]) : [tool]))
    .map((tool) => ('function' in tool ? tool.function : tool) as { name: string })
    .map(({ name }) => name)
}

test.each([undefined, 'openai', 'openai-responses', 'openai-strict', 'anthropic', 'gemini', 'mcp'])(
  'the bill adds up to what the encoder counts in the text and the tools, in the dialect %s',
  async (dialect) => {
    for (const targetTokens of [0, 1, 10, 60, 150, 300, 500, 1_000, 4_000, 1e9]) {
      const body = { targetTokens, dialect, guide: true, layers: [SYSTEM, HISTORY] }
      const { text, tools, bill } = await wrap(body)
      const ofTools = tools.length === 0 ? 0 : count(JSON.stringify(tools))
      expect(bill.total).toBe(count(text) + ofTools)
      expect(bill.layers.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(bill.total)
      expect(bill.total).toBeLessThanOrEqual(targetTokens)
    }
  },
)

test('the text, the tools and the bill of a prompt with enough room', async () => {
  const { text, system, context, names, bill, outcomes, headers } = await wrap({
    targetTokens: 4_000,
    layers: [HISTORY, SYSTEM],
  })
  expect(text).toBe('You are kind.\n\nAnn said hello. You said hello.')
  expect([system, context]).toEqual(['You are kind.', 'Ann said hello. You said hello.'])
  expect(names).toEqual(['aaa', 'bbb', 'web_post', 'web_search'])
  expect(outcomes).toEqual(['system whole', 'tools whole', 'history whole'])
  expect(bill.tools).toEqual({ full: 4, short: 0, deferred: 0, dropped: 0 })
  expect(headers.get('cache-control')).toBe('private, no-store')
  expect(headers.get('x-tools-layers')).toBe('user=0,global=0,file=4')
})

test('the tools of a prompt are the bytes of the list with the same budget', async () => {
  const { tools, bill } = await wrap({ targetTokens: 4_000, toolsTokens: 200, dialect: 'anthropic' })
  const list = await ask('ann', 'GET /tools/list?dialect=anthropic&budget=200')
  expect(tools).toEqual(list.body)
  expect(list.headers.get('x-tools-tokens')).toMatch(new RegExp(`^${bill.total}/200;`))
  expect(bill.layers).toEqual([{ name: 'tools', tokens: bill.total, outcome: 'cut' }])
})

test('too small a budget drops the last layers first, then tools, and is no error', async () => {
  const layers = [SYSTEM, HISTORY]
  expect((await wrap({ targetTokens: 0, layers })).outcomes).toEqual([
    'system dropped',
    'tools dropped',
    'history dropped',
  ])
  expect(await wrap({ targetTokens: 0 })).toMatchObject({ text: '', tools: [], bill: { total: 0 } })
  const small = await wrap({ targetTokens: 9, layers })
  expect(small.outcomes).toEqual(['system whole', 'tools dropped', 'history cut'])
  expect(small.text).toBe('You are kind.\n\nAnn said hello.')
})

test('the guide names the listed tools with their arguments', async () => {
  const { text, outcomes } = await wrap({ targetTokens: 4_000, scope: '@web', guide: true, layers: [SYSTEM] })
  expect(text).toBe(
    'You are kind.\n\n## Your functions\n\n- **web_post**(query): Does web_post.\n- **web_search**(query): Does web_search.',
  )
  expect(outcomes).toEqual(['system whole', 'tools whole', 'guide whole'])
  const none = await wrap({ targetTokens: 4_000, scope: 'none', guide: true })
  expect(none).toMatchObject({ text: '', tools: [], outcomes: ['tools whole'] })
})

test('scopes, stored scopes and their pinned tools, and sessions narrow the tools', async () => {
  expect((await wrap({ targetTokens: 4_000, scope: '@web,!web_post' })).names).toEqual(['web_search'])
  const room = { scope: '@web', pinned: ['aaa'] }
  expect((await ask('ann', 'PUT /scopes/room/kitchen', { body: room })).status).toBeLessThan(300)
  const pinned = await wrap({ targetTokens: 4_000, scope: ['ref:room/kitchen', '!web_post,*'], maxTools: 1 })
  expect(pinned.names).toEqual(['aaa'])
  const session = { selection: ['bbb', 'web_search'], model: 'claude-x' }
  expect((await ask('ann', 'PUT /sessions/s1', { body: session })).status).toBe(201)
  const inSession = await wrap({ targetTokens: 4_000, session: 's1' })
  expect(inSession.names).toEqual(['bbb', 'web_search'])
  // The dialect is that of the session's model.
  expect(inSession.tools[0]).toHaveProperty('input_schema')
  expect((await wrap({ targetTokens: 4_000, session: 's1', scope: '@web' })).names).toEqual(['web_search'])
  const unmatched = await wrap({ targetTokens: 100, scope: '@nothing' })
  expect(unmatched.headers.get('x-tools-scope-unmatched')).toBe('@nothing')
})

test('a job token gets the tools that it names', async () => {
  expect((await wrap({ targetTokens: 4_000 }, 'token')).names).toEqual(['aaa'])
  expect((await wrap({ targetTokens: 4_000, scope: 'bbb' }, 'token')).names).toEqual([])
})

test('tools that rules deny are not in a prompt', async () => {
  const rules = { rules: [{ effect: 'deny', tool: 'web_*' }] }
  expect((await ask('bob', 'PUT /rules/user/bob', { body: rules })).status).toBeLessThan(300)
  expect((await wrap({ targetTokens: 4_000 }, 'bob')).names).toEqual(['aaa', 'bbb'])
})

test("a model's profile decides the dialect, the number of tools and names without more", async () => {
  const small = { targetTokens: 4_000, toolsTokens: 60 }
  expect((await wrap({ ...small, model: 'gpt-4o' })).bill.tools).toMatchObject({ deferred: 2 })
  const noNames = await wrap({ ...small, model: 'llama-3' })
  expect(noNames.bill.tools).toEqual({ full: 0, short: 1, deferred: 0, dropped: 3 })
  expect((await wrap({ targetTokens: 4_000, model: 'gemini-2.5-pro' })).tools).toHaveLength(1)
  const asked = await wrap({ targetTokens: 4_000, model: 'gemini-2.5-pro', dialect: 'mcp', maxTools: 2 })
  expect(asked.tools[1]).toMatchObject({ name: 'bbb', inputSchema: {} })
  expect(asked.bill.tools).toEqual({ full: 2, short: 0, deferred: 0, dropped: 2 })
  expect((await wrap({ targetTokens: 4_000, maxTools: 0 })).tools).toEqual([])
})

const LAYER = { name: 'a', text: 'Text.', priority: 1 }
test.each([
  [{}, 'The body at /targetTokens: it must be a whole number'],
  [{ targetTokens: -1 }, 'The body at /targetTokens'],
  [{ targetTokens: 1.5 }, 'The body at /targetTokens'],
  [{ targetTokens: '4000' }, 'The body at /targetTokens'],
  [{ targetTokens: 1e15 }, 'The body at /targetTokens'],
  [{ targetTokens: 1, toolsTokens: -1 }, 'The body at /toolsTokens'],
  [{ targetTokens: 1, maxTools: 0.5 }, 'The body at /maxTools'],
  [{ targetTokens: 1, dialect: 'latin' }, 'The body at /dialect: it must be one of openai'],
  [{ targetTokens: 1, guide: 'yes' }, 'The body at /guide'],
  [{ targetTokens: 1, with: 'artifacts' }, 'The body at /with: it must be search'],
  [{ targetTokens: 1, loaded: 'aaa' }, 'The body at /loaded: it must be a list'],
  [{ targetTokens: 1, model: '' }, 'The body at /model'],
  [{ targetTokens: 1, session: 7 }, 'The body at /session'],
  [{ targetTokens: 1, scope: [7] }, 'The body at /scope'],
  [{ targetTokens: 1, scope: ['ref:room/hall', 'web_['] }, 'The body at /scope: it '],
  [{ targetTokens: 1, budget: 7 }, 'The body takes targetTokens, layers'],
  [{ targetTokens: 1, layers: {} }, 'The body at /layers: it must be a list'],
  [{ targetTokens: 1, layers: ['text'] }, 'The body at /layers/0: it must be an object'],
  [{ targetTokens: 1, layers: [LAYER, { text: '', priority: 1 }] }, 'The body at /layers/1/name'],
  [{ targetTokens: 1, layers: [LAYER, LAYER] }, 'The body at /layers/1/name: it is the name of an earlier'],
  [
    { targetTokens: 1, layers: [{ ...LAYER, name: 'tools' }] },
    'The body at /layers/0/name: it is the name of',
  ],
  [{ targetTokens: 1, layers: [{ ...LAYER, priority: 1.5 }] }, 'The body at /layers/0/priority'],
  [{ targetTokens: 1, layers: [{ ...LAYER, text: 7 }] }, 'The body at /layers/0/text'],
  [{ targetTokens: 1, layers: [{ ...LAYER, role: 'user' }] }, 'The body at /layers/0: it takes name'],
  [
    { targetTokens: 1, layers: Array.from({ length: 10_000 }, () => LAYER) },
    'The body at /layers: it has 10000 layers; at most 100',
  ],
])('a bad body is refused with the place: %#', async (body, message) => {
  const answer = await ask('ann', 'POST /tools/wrap', { body })
  expect(answer).toMatchObject({ status: 400, code: 'BODY_INVALID' })
  expect(JSON.stringify(answer.body)).toContain(message)
})

test.each([
  [{ scope: 'ref:room/nowhere' }, 404, 'SCOPE_NOT_FOUND'],
  [{ session: 'nobody' }, 404, 'SESSION_NOT_FOUND'],
  [{ session: ' ' }, 400, 'PARAMETER_INVALID'],
  [{ loaded: Array.from({ length: 201 }, (_, at) => `t${at}`) }, 400, 'PARAMETER_INVALID'],
  [{ layers: [{ ...LAYER, text: 'word '.repeat(210_000) }] }, 413, 'BODY_TOO_LARGE'],
])('what is not there, and what is too large: %#', async (body, status, code) => {
  const asked = { body: { targetTokens: 1_000, layers: [], ...body } }
  expect(await ask('ann', 'POST /tools/wrap', asked)).toMatchObject({ status, code })
})

test("another user's session and scope are not there", async () => {
  await ask('ann', 'PUT /sessions/hers', { body: {} })
  const body = { targetTokens: 1, layers: [], session: 'hers' }
  expect((await ask('bob', 'POST /tools/wrap', { body })).status).toBe(404)
})

test('a new definition is in the next prompt of its user, and in no other', async () => {
  const body = { targetTokens: 4_000, scope: 'ccc,aaa' }
  const [ann, admin] = [await wrap(body), await wrap(body, 'admin')]
  expect([ann.names, admin.names]).toEqual([['aaa'], ['aaa']])
  const made = { ...granted[0], function: { ...granted[0]?.function, name: 'ccc' } }
  expect((await ask('ann', 'POST /tools/defs', { body: [made] })).status).toBe(200)
  expect((await wrap(body)).names).toEqual(['ccc', 'aaa'])
  expect((await wrap(body, 'admin')).names).toEqual(['aaa'])
})

test('the revision of a narrowed prompt is that of the same list, so a feed goes on from it', async () => {
  expect((await ask('ann', 'PUT /sessions/feed', { body: { selection: ['bbb'] } })).status).toBe(201)
  const { headers } = await wrap({ targetTokens: 4_000, session: 'feed' })
  const list = await ask('ann', 'GET /tools/list?session=feed')
  expect(headers.get('x-tools-revision')).toContain(':')
  expect(headers.get('x-tools-revision')).toBe(list.headers.get('x-tools-revision'))
})

test.each([undefined, 'openai', 'anthropic', 'openai-responses'])(
  'with search the tools are those of the list with search, the loaded ones first in the budget, in the dialect %s',
  async (dialect) => {
    const loaded = ['web_search', 'nowhere']
    const body = { targetTokens: 4_000, toolsTokens: 450, dialect, with: 'search', loaded, scope: '!aaa' }
    const { tools, names, bill, headers } = await wrap(body, 'ann', askWithFinders)
    const query = `with=search&loaded=${loaded.join()}&budget=450&scope=!aaa`
    const list = await askWithFinders(
      'ann',
      `GET /tools/list?${query}${dialect === undefined ? '' : `&dialect=${dialect}`}`,
    )
    expect(tools).toEqual(list.body)
    expect(names).toContain('web_search')
    expect(bill.total).toBe(count(JSON.stringify(tools)))
    expect(headers.get('x-tools-unknown')).toBe('nowhere')
    const isVendors = dialect === 'anthropic' || dialect === 'openai-responses'
    expect(names.includes('search_tools')).toBe(!isVendors)
  },
)
