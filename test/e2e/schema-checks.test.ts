import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { InvocationResult, JsonObject, JsonValue } from '@toolrack/contract'
import { existsSync, mkdirSync, readlinkSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { WriteAnswer } from '../../functions/src/catalog/definitions/write-answer.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { folderWhen } from '../support/folder.ts'
import { invoke } from '../support/invocation.ts'
import { moduleOf, runnerReady, upload } from '../support/modules.ts'
import { commandOf, descendantsOf, isAlive } from '../support/processes.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { greedySchema } from '../support/schema-shapes.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { list, listedNames, post, put, tool } from '../support/tool.ts'
import { until } from '../support/until.ts'
import { whilePending } from '../support/while-pending.ts'

/** Everything that costs memory here would end the process in which it is done. */
const GREEDY = greedySchema()
const REFUSED = /the schema could not be compiled within (?:2000 ms|96 MB of memory); simplify it/

const outer = temporaryFolder()
afterAll(() => outer[Symbol.dispose]())
const folderIn = (name: string): string => {
  const path = join(outer.path, name)
  mkdirSync(path)
  return path
}
const withSchema = (name: string, parameters: JsonObject): JsonObject => ({
  ...tool(name),
  function: { name, description: 'Is greedy.', parameters },
})

const definitions = folderIn('defs')
const file = { family: 'mixed', tools: [withSchema('greedy_file', GREEDY), tool('modest_file')] }
writeFileSync(join(definitions, 'mixed.json'), JSON.stringify(file))

const moduleWith = (name: string): string =>
  moduleOf(name, 'modest', 'greedy').replace(
    '"handler": greedy',
    `"parameters": ${JSON.stringify(GREEDY)}, "handler": greedy`,
  )
const tools = folderIn('tools')
writeFileSync(join(tools, 'watched.py'), moduleWith('watched'))

/** A small container's heap: what fits into a large one would only take longer. */
const env = { NODE_OPTIONS: '--max-old-space-size=256', TOOLRACK_TOOLS_DIR: tools }
const args = existsSync(PYTHON) ? [`--python=${PYTHON}`] : []
const server = await Server.start({ definitions, env, args })
const { pid } = server
afterAll(() => server[Symbol.asyncDispose]())

/** Others are answered while the work goes on, and it is still the same process that answers. */
async function whileOthersList<T>(work: Promise<T>): Promise<T> {
  await whilePending(work, async (count) => {
    const answer = await server.fetch(`/workflows/tools/list?names=modest_file,n${count}`)
    expect(answer.status).toBe(200)
  })
  expect(await listedNames(server, 'names=modest_file')).toEqual(['modest_file'])
  expect(isAlive(pid)).toBe(true)
  return work
}

const times = (length: number, of: (index: number) => JsonValue): JsonValue[] =>
  Array.from({ length }, (_, index) => of(index))
const inList = (items: JsonObject): JsonObject => ({ properties: { list: { items } } })
const keyed = (length: number, of: (index: number) => readonly [string, JsonValue]): JsonObject =>
  Object.fromEntries(Array.from({ length }, (_, index) => of(index)))

const putSchema = (name: string, parameters: unknown): Promise<Response> =>
  put(server, name, { description: 'X.', parameters })
const properties = (count: number, schema: (index: number) => JsonObject): JsonObject => ({
  type: 'object',
  properties: keyed(count, (index) => [`p${index}`, schema(index)]),
})
/** Each definition refers twice to the one before: written out, it would be 2^count values. */
const bomb = (count: number): JsonObject => ({
  type: 'object',
  $defs: Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const before = { $ref: `#/$defs/d${index - 1}` }
      return [`d${index}`, index === 0 ? { type: 'string' } : { anyOf: [before, before] }]
    }),
  ),
  properties: { a: { $ref: `#/$defs/d${count - 1}` } },
})

test.each<[string, JsonObject, string]>([
  ['a remote $ref', { properties: { a: { $ref: 'https://x.example/s.json' } } }, '/properties/a/$ref'],
  ['a $ref that doubles 40 times', bomb(40), '/$defs/d'],
  ['required that says true', { properties: { a: { required: true } } }, '/properties/a/required'],
  ['a pattern that is none', { properties: { a: { pattern: '(' } } }, '/properties/a/pattern'],
  ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#' }, '/$schema'],
])('%s is a 422 with a JSON pointer, and nothing is stored', async (_what, schema, pointer) => {
  const { httpStatus, reason, details, message } = await errorAnswer(await putSchema('refused', schema))
  expect([httpStatus, reason]).toEqual([422, 'SCHEMA_REJECTED'])
  expect((details[0]?.['pointer'] as string | undefined)?.replace(/\d+$/, '')).toBe(`/parameters${pointer}`)
  expect(message.startsWith(`/parameters${pointer}`)).toBe(true)
  expect(message.length).toBeLessThan(400)
  expect(await listedNames(server, 'names=refused')).toEqual([])
})

test.each([[[]], ['x'], [5], [null], [true]])('parameters that are %j are a 422', async (parameters) => {
  const answer = await errorAnswer(await putSchema('refused', parameters))
  expect(answer).toMatchObject({
    httpStatus: 422,
    details: [{ reason: 'DEFINITION_INVALID', pointer: '/parameters' }],
  })
})

test('3,000 levels are a 422 that points at the first level too many, and the server goes on', async () => {
  const schema = `${'{"properties":{"a":'.repeat(1_500)}true${'}}'.repeat(1_500)}`
  const answer = await errorAnswer(
    await server.fetch('/workflows/tools/defs/refused', { method: 'PUT', body: `{"parameters":${schema}}` }),
  )
  const pointer = `/parameters${'/properties/a'.repeat(16)}`
  expect(answer).toMatchObject({ httpStatus: 422, details: [{ reason: 'SCHEMA_REJECTED', pointer }] })
  expect(await listedNames(server, 'names=refused')).toEqual([])
})

test('a schema just inside the limits is admitted: depth 32, 600 properties, 9 doublings', async () => {
  const inside: readonly JsonObject[] = [
    {
      type: 'object',
      properties: { a: { default: JSON.parse('['.repeat(29) + ']'.repeat(29)) as JsonObject } },
    },
    properties(600, (index) => ({ type: 'string', minLength: index })),
    bomb(9),
  ]
  for (const schema of inside) {
    const answer = await putSchema('inside', schema)
    expect(await answer.json()).toMatchObject({ name: 'inside', unenforced: [] })
  }
})

test('Python type names are admitted, normalised and said so', async () => {
  const answer = await putSchema('python', {
    type: 'dict',
    properties: { a: { type: 'float' }, b: { type: 'any' }, type: { type: 'str' }, c: { enum: ['dict'] } },
  })
  expect(answer.status).toBe(201)
  const { normalised } = (await answer.json()) as WriteAnswer
  expect(normalised).toEqual(
    expect.arrayContaining([
      { pointer: '/parameters/type', from: 'dict', to: 'object' },
      { pointer: '/parameters/properties/a/type', from: 'float', to: 'number' },
      { pointer: '/parameters/properties/b/type', from: 'any', to: null },
      { pointer: '/parameters/properties/type/type', from: 'str', to: 'string' },
    ]),
  )
  const [listed] = await list(server, 'names=python')
  expect(listed?.function.parameters).toEqual({
    type: 'object',
    properties: { a: { type: 'number' }, b: {}, type: { type: 'string' }, c: { enum: ['dict'] } },
    required: [],
  })
})

test('a pattern that RE2 does not know is admitted, stays in the schema, and is named as not enforced', async () => {
  const own = { catastrophic: { type: 'string', pattern: '^(a+)+$' }, ahead: { pattern: '^(?=.*\\d).+$' } }
  const answer = await putSchema('pattern', { type: 'object', properties: own })
  expect(answer.ok).toBe(true)
  const { unenforced } = (await answer.json()) as WriteAnswer
  expect(unenforced.map(({ pointer }) => pointer)).toEqual(['/parameters/properties/ahead/pattern'])
  const [listed] = await list(server, 'names=pattern')
  expect(listed?.function.parameters['properties']).toEqual(own)
})

test('an MCP tool is read as what it is, and the answer says so', async () => {
  const sent = {
    name: 'loose',
    title: 'L',
    description: 'D.',
    inputSchema: { type: 'object' },
    outputSchema: {},
  }
  const answer = await put(server, 'loose', sent)
  expect(answer.ok).toBe(true)
  const { normalised } = (await answer.json()) as WriteAnswer
  expect(normalised).toContainEqual({ pointer: '', from: 'MCP tool', to: 'function tool' })
  const [listed] = await list(server, 'names=loose')
  expect(listed?.function).toEqual({
    name: 'loose',
    description: 'D.',
    parameters: { type: 'object', properties: {}, required: [] },
  })
})

/** Small, and far beyond the deadline: each of its patterns is thousands of steps of the automaton. */
const SLOW = properties(500, () => ({ pattern: '\\p{L}{0,999}'.repeat(3) }))

test('lists are answered while a slow schema is being admitted, and the next definition is admitted after it', async () => {
  const slow = putSchema('slow', SLOW)
  const answered = await whilePending(slow, async (count) => {
    expect((await server.fetch(`/workflows/tools/list?names=READ_FILE,n${count}`)).status).toBe(200)
  })
  expect(answered).toBeGreaterThan(10)
  const answer = await errorAnswer(await slow)
  expect(answer).toMatchObject({
    httpStatus: 422,
    reason: 'SCHEMA_REJECTED',
    details: [{ pointer: '/parameters' }],
  })
  expect(answer.message).toMatch(/the schema could not be compiled .*; simplify it/)
  expect((await putSchema('after_slow', { type: 'object' })).status).toBe(201)
})

test('explanations are answered while a bulk of heavy schemas is being admitted', async () => {
  const heavy = Array.from({ length: 10 }, (_, index) => ({
    name: `heavy_${index}`,
    parameters: properties(400, (count) => ({ type: 'string', maxLength: count + index })),
  }))
  const bulk = post(server, heavy)
  const answered = await whilePending(bulk, async (count) => {
    expect((await server.fetch(`/workflows/tools/explain?name=e${count}`)).status).toBe(200)
  })
  expect(answered).toBeGreaterThan(10)
  expect((await bulk).status).toBe(200)
})

/** Schemas that are admitted, with arguments of at most 256 kB that have millions of errors. */
const CALLS: readonly (readonly [string, JsonObject, JsonObject])[] = [
  [
    'anyOf of 60 branches',
    inList({
      anyOf: times(60, (index) => ({
        required: ['name', 'value', `k${index}`],
        properties: { a: { const: index } },
      })),
    }),
    { list: times(9_000, () => ({ a: 'xxxxxxxxxxxx' })) },
  ],
  [
    'if and else',
    inList({ allOf: times(200, () => ({ if: { type: 'string' }, else: { type: 'string' } })) }),
    { list: times(100_000, () => 1) },
  ],
  [
    'branches that admit nothing',
    inList({ anyOf: times(1_500, () => false) }),
    { list: times(100_000, () => 1) },
  ],
  [
    'allOf of anyOf',
    inList({ allOf: times(40, () => ({ anyOf: times(10, (index) => ({ const: index })) })) }),
    { list: times(60_000, () => 'x') },
  ],
  [
    'references that fan out',
    {
      $defs: { leaf: { anyOf: times(60, () => ({ type: 'null' })) } },
      ...inList({ allOf: times(30, () => ({ $ref: '#/$defs/leaf' })) }),
    },
    { list: times(100_000, () => 1) },
  ],
  [
    'contains, which looks at each element whatever it finds',
    { properties: { list: { contains: { anyOf: times(1_000, () => false) } } } },
    { list: times(100_000, () => 1) },
  ],
  [
    'required',
    inList({ required: times(1_500, (index) => `r${index}`) }),
    { list: times(80_000, () => ({})) },
  ],
  [
    'patterns of names',
    { patternProperties: keyed(100, (index) => [`k.{0,${index + 1}}`, { type: 'null' }]) },
    keyed(15_000, (index) => [`k${index}`, 1]),
  ],
  [
    'names of arguments',
    { additionalProperties: false, propertyNames: { allOf: times(100, () => ({ maxLength: 0 })) } },
    keyed(15_000, (index) => [`k${index}`, 1]),
  ],
  [
    'unevaluatedProperties',
    inList({ anyOf: times(60, () => ({ properties: { b: {} }, unevaluatedProperties: false })) }),
    { list: times(6_000, () => ({ a: 1, c: 2, d: 3 })) },
  ],
  ['uniqueItems', { properties: { list: { uniqueItems: true } } }, { list: times(15_000, (a) => ({ a })) }],
  [
    'large constants',
    inList({ enum: times(50, (b) => ({ a: times(25, (index) => index), b })) }),
    { list: times(2_500, () => ({ a: times(25, (index) => index), b: -1 })) },
  ],
]

test.each(CALLS)(
  'arguments with countless errors are a 400, and the service goes on: %s',
  async (_title, schema, args) => {
    const runner = { kind: 'builtin', builtin: 'echo' }
    expect((await put(server, 'greedy', { ...withSchema('greedy', schema), runner })).ok).toBe(true)
    const answer = await whileOthersList(invoke(server, { name: 'greedy', arguments: args }))
    expect(answer.status).toBe(400)
    const result = (await answer.json()) as InvocationResult
    expect(result).toMatchObject({ resultType: 'failure', code: 'ARGUMENTS_INVALID' })
  },
)

test('the same arguments in a call of a model are answered to the model, and the service goes on', async () => {
  const [, schema, args] = CALLS.find(([title]) => title.startsWith('contains')) ?? ['', {}, {}]
  const runner = { kind: 'builtin', builtin: 'echo' }
  expect((await put(server, 'greedy', { ...withSchema('greedy', schema), runner })).ok).toBe(true)
  const calls = [{ type: 'tool_use', id: 'toolu_1', name: 'greedy', input: args }]
  const body = JSON.stringify({ role: 'assistant', content: calls })
  const answer = await whileOthersList(server.fetch('/workflows/tools/dispatch', { method: 'POST', body }))
  const { results } = (await answer.json()) as { results: { result: InvocationResult }[] }
  expect(results.map(({ result }) => result)).toEqual([
    expect.objectContaining({
      code: 'ARGUMENTS_INVALID',
      error: expect.stringMatching(/could not be checked within (?:1000 ms|96 MB of memory)\. Send less/),
    }),
  ])
})

type Checked = { readonly code: string; readonly retryAfter: string | null }

function isBusy({ code }: Checked): boolean {
  return code === '429 SERVICE_BUSY'
}

/** How many calls run or wait in the service. */
async function inQueue(service: Server): Promise<number> {
  const health = (await (await service.fetch('/health')).json()) as {
    queues: { arguments: { running: number; waiting: number } }
  }
  return health.queues.arguments.running + health.queues.arguments.waiting
}

describe('many calls at once whose checks take all the time they may have', () => {
  const parameters = {
    type: 'object',
    properties: {
      a: {
        type: 'array',
        contains: {
          anyOf: times(60, (index) => ({
            type: 'object',
            properties: { k: { const: index } },
            required: ['k'],
          })),
        },
        maxContains: 1,
        minContains: 0,
      },
    },
  }
  const body = { name: 'A4b', arguments: { a: times(84_000, () => ({})) } }

  const runner = { kind: 'builtin', builtin: 'echo' }
  let small: Server
  beforeAll(async () => {
    small = await Server.start({ env: { NODE_OPTIONS: '--max-old-space-size=512' } })
  })
  afterAll(() => small[Symbol.asyncDispose]())

  test('are checked or refused, and the service goes on', async () => {
    expect((await put(small, 'A4b', { ...withSchema('A4b', parameters), runner })).ok).toBe(true)
    const before = small.pid
    const gone = new AbortController()
    const answers: Checked[] = []
    const calls = Array.from({ length: 64 }, async () => {
      const answer = await invoke(small, body, { signal: gone.signal })
      const result = (await answer.json()) as InvocationResult
      const code = `${answer.status} ${result.resultType === 'failure' ? result.code : 'success'}`
      answers.push({ code, retryAfter: answer.headers.get('Retry-After') })
    })
    const ended = Promise.allSettled(calls)
    let arrived = 0
    // One after the other the checks would take a minute and a half. When all calls have arrived and two were checked, the others go.
    while (arrived < 64 || answers.filter((answer) => !isBusy(answer)).length < 2) {
      expect(await listedNames(small, 'names=A4b')).toEqual(['A4b'])
      arrived = answers.length + (await inQueue(small))
      await pause(20)
    }
    gone.abort()
    await ended
    expect([...new Set(answers.map(({ code }) => code))].toSorted()).toEqual([
      '400 ARGUMENTS_INVALID',
      '429 SERVICE_BUSY',
    ])
    expect(new Set(answers.filter(isBusy).map(({ retryAfter }) => retryAfter))).toEqual(new Set(['1']))
    expect(isAlive(before)).toBe(true)
    expect(small.log).not.toContain('call failed')
  }, 240_000)

  test('are not checked for callers that have gone', async () => {
    expect((await put(small, 'A4b', { ...withSchema('A4b', parameters), runner })).ok).toBe(true)
    const gone = new AbortController()
    const left = Array.from({ length: 12 }, () => invoke(small, body, { signal: gone.signal }))
    const refused = Promise.allSettled(left)
    // One of them has been answered, so the others have arrived and wait.
    await Promise.race(left)
    gone.abort()
    await refused
    // The service hears of the closed connections before it answers requests that were sent after them.
    for (let lists = 0; lists < 3; lists += 1) await listedNames(small, 'names=A4b')
    const room = Array.from({ length: 12 }, () => invoke(small, { name: 'A4b', arguments: { a: [1] } }))
    expect((await Promise.all(room)).map(({ status }) => status)).toEqual(times(12, () => 200))
    expect(small.log).not.toContain('call failed')
  }, 240_000)
})

test('a schema that takes more memory than there is is a 422, and the service goes on', async () => {
  const answer = await whileOthersList(put(server, 'greedy_put', withSchema('greedy_put', GREEDY)))
  const { httpStatus, reason, message } = await errorAnswer(answer)
  expect([httpStatus, reason, message]).toEqual([422, 'SCHEMA_REJECTED', expect.stringMatching(REFUSED)])
})

test('in a bulk it is refused alone', async () => {
  const items = [withSchema('greedy_bulk', GREEDY), tool('modest_bulk')]
  const answer = await whileOthersList(post(server, items, 'layer=user&onInvalid=skip'))
  expect(await answer.json()).toMatchObject({
    results: [{ name: 'modest_bulk' }],
    refused: [{ index: 0, reason: 'SCHEMA_REJECTED', message: expect.stringMatching(REFUSED) }],
  })
})

test('a bulk of long names and much to say about each is refused, and its answer is no larger than its body', async () => {
  const inner = keyed(600, (index) => [`p${index}`, { type: 'str' }])
  const parameters = { properties: { ['k'.repeat(14_000)]: { properties: inner } } }
  const items = times(32, (index) => withSchema(`long_${index}`, parameters))
  const answer = await whileOthersList(post(server, items, 'layer=user&onInvalid=skip'))
  const text = await answer.text()
  expect(text.length).toBeLessThan(32 * 1024)
  expect(JSON.parse(text)).toMatchObject({ results: [] })
})

test('in a definitions file it is skipped when the server starts', async () => {
  expect(await listedNames(server, 'names=greedy_file,modest_file')).toEqual(['modest_file'])
  expect(server.log).toMatch(REFUSED)
})

withPython('in a module that is uploaded it is refused alone', async () => {
  await runnerReady(server)
  const answer = await whileOthersList(upload(server, 'uploaded', moduleWith('uploaded')))
  expect(await answer.text()).toMatch(REFUSED)
  expect(await listedNames(server, 'category=uploaded')).toEqual(['uploaded:modest'])
})

withPython('in a module of the watched folder it is refused alone too', async () => {
  await runnerReady(server)
  const { skipped } = await folderWhen(server, ({ checking }) => checking.length === 0)
  expect(skipped.map(({ message }) => message)).toEqual([expect.stringMatching(REFUSED)])
  expect(isAlive(pid)).toBe(true)
})

/** What the descriptors of a process lead to, but what every process of Node has of its own. */
function descriptorsOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`)
    .flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
      } catch {
        return [] // It was that of the reading itself.
      }
    })
    .filter((path) => path !== '/dev/null' && !path.startsWith('anon_inode:'))
}

const onLinux = testWhere(
  process.platform === 'linux',
  'The descriptors of a process are only seen on Linux.',
)

onLinux(
  'the processes that check have none of the descriptors of the service, and are gone when it was killed',
  async () => {
    await using other = await Server.start({ definitions })
    const runner = { kind: 'builtin', builtin: 'echo' }
    expect((await put(other, 'calm', { ...tool('calm'), runner })).ok).toBe(true)
    expect((await invoke(other, { name: 'calm', arguments: { text: 'x' } })).status).toBe(200)
    const checking = descendantsOf(other.pid).filter((each) =>
      /(argument|schema)-worker/.test(commandOf(each)),
    )
    expect(checking).toHaveLength(2)
    // What the tests were started with is everybody's.
    const inherited = new Set(descriptorsOf(process.pid))
    const own = new Set(descriptorsOf(other.pid).filter((path) => !inherited.has(path)))
    expect(own.size).toBeGreaterThan(3)
    for (const each of checking) {
      expect(descriptorsOf(each).length).toBeGreaterThan(1)
      expect(descriptorsOf(each).filter((path) => own.has(path))).toEqual([])
    }
    await other.kill9()
    await until(
      () => Promise.resolve(checking.filter(isAlive)),
      (left) => left.length === 0,
    )
  },
)
