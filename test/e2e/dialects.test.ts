import { dialectRules, DIALECTS, inDialect } from '@toolrack/contract'
import type { Dialect, JsonObject, ToolDefinition } from '@toolrack/contract'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { post, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

/** No vendor of models takes it: an alternative at the root, and a parameter with a blank in its name. */
const UNSAYABLE = {
  type: 'function',
  function: {
    name: 'unsayable',
    description: 'U.',
    parameters: {
      type: 'object',
      properties: { 'a b': { type: 'string' } },
      oneOf: [{ required: ['a b'] }, { maxProperties: 0 }],
    },
  },
}
const LOOSE = {
  type: 'function',
  function: {
    name: 'ns:loose',
    description: 'L.',
    parameters: { type: 'object', properties: { filter: { type: 'object' } } },
  },
  annotations: { readOnlyHint: true },
}
const MINE = [tool('ns:plain'), LOOSE, UNSAYABLE]

beforeAll(async () => {
  expect((await post(server, MINE)).status).toBe(200)
})

const get = (query: string, headers: Record<string, string> = {}, family = 'workflows'): Promise<Response> =>
  server.fetch(`/${family}/tools/list${query}`, { headers })

/** What a list in a dialect holds: Gemini's lies inside of one tool. */
async function itemsOf(answer: Response, dialect: Dialect): Promise<readonly JsonObject[]> {
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`)
  const body = (await answer.json()) as readonly JsonObject[]
  if (dialect !== 'gemini') return body
  expect(body.length).toBeLessThan(2)
  return (body[0]?.['functionDeclarations'] ?? []) as readonly JsonObject[]
}

const inShape = (definition: JsonObject, dialect: Dialect) => {
  const converted = inDialect(definition as unknown as ToolDefinition, dialectRules(dialect))
  return 'item' in converted ? [converted.item] : []
}

const quarantined = (answer: Response): string | null => answer.headers.get('x-tools-quarantined')

test.each(DIALECTS)(
  'the list in the dialect %s is what the contract makes of it, in both families',
  async (dialect) => {
    const query = `?dialect=${dialect}&names=ns:loose,ns:plain,unsayable`
    const answers = await Promise.all([get(query), get(query, {}, 'jobs')])
    const expected = [LOOSE, tool('ns:plain'), UNSAYABLE].flatMap((one) => inShape(one, dialect))
    for (const answer of answers) {
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(quarantined(answer)).toBe(dialect === 'mcp' ? null : 'unsayable')
      expect(JSON.stringify(await itemsOf(answer, dialect))).toBe(JSON.stringify(expected))
    }
  },
)

test.each(DIALECTS)('in the dialect %s every tool is listed or named as quarantined', async (dialect) => {
  const whole = (await (await get('')).json()) as readonly unknown[]
  const answer = await get(`?dialect=${dialect}`)
  const left = quarantined(answer)?.split(',') ?? []
  expect(await itemsOf(answer, dialect)).toHaveLength(whole.length - left.length)
  expect(answer.headers.get('x-tools-layers')).toBe((await get('')).headers.get('x-tools-layers'))
})

test('the list without a dialect knows nothing of quarantine', async () => {
  const answer = await get('?names=unsayable,ns:plain')
  expect(quarantined(answer)).toBeNull()
  const names = ((await answer.json()) as { function: { name: string } }[]).map((one) => one.function.name)
  expect(names).toEqual(['ns:plain', 'unsayable'])
})

test('names may be canonical or aliases, and a version may be asked for', async () => {
  for (const query of ['names=ns:plain', 'names=ns__plain', 'names[]=ns__plain&name=ns:plain']) {
    const [item] = await itemsOf(await get(`?dialect=anthropic&${query}`), 'anthropic')
    expect(item?.['name']).toBe('ns__plain')
  }
  const none = await get(`?dialect=anthropic&names=ns:plain@sha256:${'0'.repeat(64)},nowhere`)
  expect([none.headers.get('x-tools-unknown'), await none.text()]).toEqual(['nowhere', '[]'])
})

test('a list of no tools is an empty list in every dialect', async () => {
  for (const dialect of DIALECTS) expect(await (await get(`?dialect=${dialect}&names=[]`)).text()).toBe('[]')
})

test('each dialect has an entity tag of its own, which gives a 304 with the same headers', async () => {
  const tags = new Map<string, string>()
  for (const dialect of ['', ...DIALECTS.map((one) => `?dialect=${one}`)]) {
    const full = await get(dialect)
    const etag = full.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]+"$/)
    tags.set(etag, dialect)
    const again = await get(dialect, { 'If-None-Match': etag })
    expect([again.status, await again.text(), quarantined(again)]).toEqual([304, '', quarantined(full)])
    expect((await get(dialect)).headers.get('etag')).toBe(etag)
  }
  expect(tags.size).toBe(DIALECTS.length + 1)
  for (const [etag, dialect] of tags) {
    const other = dialect === '?dialect=mcp' ? '?dialect=gemini' : '?dialect=mcp'
    expect((await get(other, { 'If-None-Match': etag })).status).toBe(200)
  }
})

test('items go with the OpenAI shape only', async () => {
  for (const dialect of ['openai', 'openai-strict']) {
    const answer = await get(`?dialect=${dialect}&envelope=items&names=ns:plain`)
    const { items } = (await answer.json()) as { items: JsonObject[] }
    expect(items).toEqual([expect.objectContaining({ type: 'function', workflowName: 'tools-CliTools' })])
  }
  for (const dialect of ['openai-responses', 'anthropic', 'gemini', 'mcp']) {
    const refused = await errorAnswer(await get(`?dialect=${dialect}&envelope=items`))
    expect(refused).toMatchObject({ httpStatus: 400, reason: 'PARAMETER_INVALID' })
    expect(refused.message).toBe(
      'The parameter envelope must be array in this dialect; items go with openai and openai-strict.',
    )
  }
})

test('LIST_ENVELOPE=items does not reach a list that is asked for in a dialect', async () => {
  await using items = await Server.start({ env: { LIST_ENVELOPE: 'items' } })
  for (const dialect of DIALECTS) {
    const answer = await items.fetch(`/workflows/tools/list?dialect=${dialect}`)
    expect([answer.status, Array.isArray(await answer.json())]).toEqual([200, true])
  }
})

test('pages, joined, are the whole list, and name each quarantined tool once', async () => {
  const whole = await itemsOf(await get('?dialect=gemini'), 'gemini')
  const paged: JsonObject[] = []
  const left: string[] = []
  for (let path = '/workflows/tools/list?dialect=gemini&limit=2'; path !== '';) {
    const answer = await server.fetch(path)
    const items = await itemsOf(answer, 'gemini')
    expect(items.length).toBeLessThanOrEqual(2)
    paged.push(...items)
    left.push(...(quarantined(answer)?.split(',') ?? []))
    path = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1] ?? ''
  }
  expect(paged).toEqual(whole)
  expect(left).toEqual(['unsayable'])
})

test('a header names at most 20 quarantined tools and how many more there are', async () => {
  const many = Array.from({ length: 23 }, (_, index) => ({
    ...UNSAYABLE,
    function: { ...UNSAYABLE.function, name: `many_${String(index).padStart(2, '0')}` },
  }))
  expect((await post(server, many)).status).toBe(200)
  const names = many.map((one) => one.function.name)
  const answer = await get(`?dialect=anthropic&names=${names.join(',')}`)
  expect([quarantined(answer), await answer.text()]).toEqual([`${names.slice(0, 20).join(',')},+3`, '[]'])
  for (const name of names) expect((await remove(server, name)).status).toBe(200)
})

test('of two tools of one alias the one that a call by it runs is listed, in every answer', async () => {
  const both = [tool('a_:b', 'Comes second.'), tool('a:_b', 'Comes first.')]
  const named = [tool('x:y', 'Has the alias.'), tool('x__y', 'Has the name.')]
  expect((await post(server, [...both, ...named])).status).toBe(200)
  for (const dialect of DIALECTS.filter((one) => one !== 'gemini')) {
    const answer = await get(`?dialect=${dialect}&names=a_:b,a:_b,x:y,x__y`)
    expect(quarantined(answer)).toBe('a_:b,x:y')
    expect((await itemsOf(answer, dialect)).map(describedBy)).toEqual(['Comes first.', 'Has the name.'])
    const alone = await get(`?dialect=${dialect}&names=a_:b`)
    expect([quarantined(alone), await alone.text()]).toEqual(['a_:b', '[]'])
  }
  const gemini = await get('?dialect=gemini&names=a_:b,a:_b,x:y,x__y')
  expect([quarantined(gemini), (await itemsOf(gemini, 'gemini')).map((one) => one['name'])]).toEqual([
    null,
    ['a:_b', 'a_:b', 'x:y', 'x__y'],
  ])
  const explained = await explain('a_:b')
  expect(explained.dialects['openai']).toEqual({
    alias: 'a___b',
    conversion: 'quarantined',
    obstacle: {
      pointer: '/function/name',
      reason: 'its alias is also the alias of a:_b, which a call by it runs',
    },
  })
  expect((await explain('x:y')).dialects['mcp']?.obstacle?.reason).toBe(
    'its alias is the name of x__y, which a call by it runs',
  )
  expect(explained.dialects['gemini']).toEqual({ alias: 'a_:b', conversion: 'full', obstacle: null })

  expect((await remove(server, 'a:_b')).status).toBe(200)
  expect(quarantined(await get('?dialect=openai&names=a_:b'))).toBeNull()
  for (const name of ['a_:b', 'x:y', 'x__y']) expect((await remove(server, name)).status).toBe(200)
})

function describedBy(item: JsonObject): unknown {
  return item['description'] ?? (item['function'] as JsonObject | undefined)?.['description']
}

type Explained = {
  readonly dialects: Readonly<
    Record<
      string,
      { alias: string; conversion: string; obstacle: { pointer: string; reason: string } | null }
    >
  >
}

async function explain(name: string): Promise<Explained> {
  const answer = await server.fetch(`/workflows/tools/explain?name=${encodeURIComponent(name)}`)
  return (await answer.json()) as Explained
}

test('explain shows the alias of each dialect, and what keeps a tool out of one or from being strict', async () => {
  expect((await explain('unsayable')).dialects['anthropic']).toEqual({
    alias: 'unsayable',
    conversion: 'quarantined',
    obstacle: {
      pointer: '/function/parameters/oneOf',
      reason:
        'oneOf stands at the root, where the vendor takes plain parameters only; put it below one of them',
    },
  })
  const { dialects } = await explain('ns__loose')
  expect(Object.keys(dialects)).toEqual([...DIALECTS])
  expect(dialects['gemini']).toEqual({ alias: 'ns:loose', conversion: 'full', obstacle: null })
  expect(dialects['openai-strict']).toEqual({
    alias: 'ns__loose',
    conversion: 'non-strict',
    obstacle: {
      pointer: '/function/parameters/properties/filter',
      reason: 'the object declares nothing, so it takes anything',
    },
  })
  expect((await explain('nowhere')).dialects).toBeNull()
})

test('what is listed in a dialect can be called by the name that it has there', async () => {
  const [strict] = await itemsOf(await get('?dialect=openai-strict&names=ECHO'), 'openai-strict')
  expect(strict?.['function']).toMatchObject({ name: 'ECHO', strict: true })
  const invoked = await server.fetch('/workflows/tools/invoke', {
    method: 'POST',
    body: JSON.stringify({ name: 'ns__plain', arguments: { text: 'a' } }),
  })
  expect(await invoked.json()).toMatchObject({ code: 'RUNS_AT_CLIENT', meta: { tool: 'ns:plain' } })
})

test('a change of a definition is in every dialect at once', async () => {
  const before = await Promise.all(DIALECTS.map((dialect) => get(`?dialect=${dialect}`)))
  expect((await put(server, 'ns:plain', tool('ns:plain', 'Changed.'))).status).toBe(200)
  for (const [index, dialect] of DIALECTS.entries()) {
    const after = await get(`?dialect=${dialect}`)
    expect(after.headers.get('etag')).not.toBe(before[index]?.headers.get('etag'))
    expect((await itemsOf(after, dialect)).map(describedBy)).toContain('Changed.')
  }
})

test('null leaves out what a strict model has to write, in the calls of OpenAI and of nobody else', async () => {
  const [strict] = await itemsOf(await get('?dialect=openai-strict&names=GET_TIME'), 'openai-strict')
  const { parameters } = (strict?.['function'] ?? {}) as { parameters: JsonObject }
  const args = Object.fromEntries(Object.keys(parameters['properties'] ?? {}).map((name) => [name, null]))
  expect(Object.keys(args)).not.toEqual([])
  const calls = [
    { id: 'c', type: 'function', function: { name: 'GET_TIME', arguments: JSON.stringify(args) } },
    { type: 'function_call', call_id: 'c', name: 'GET_TIME', arguments: JSON.stringify(args) },
    { type: 'tool_use', id: 'c', name: 'GET_TIME', input: args },
    { functionCall: { name: 'GET_TIME', args } },
  ]
  const types = calls.map(async (call) => {
    const answer = await server.fetch('/jobs/tools/dispatch', {
      method: 'POST',
      body: JSON.stringify([call]),
    })
    const { results } = (await answer.json()) as { results: { result: { resultType: string } }[] }
    return results.map(({ result }) => result.resultType).join()
  })
  expect(await Promise.all(types)).toEqual(['success', 'success', 'failure', 'failure'])
})
