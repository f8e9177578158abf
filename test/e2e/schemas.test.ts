import type { JsonObject } from '@toolrack/contract'
import { afterAll, expect, test } from '@jest/globals'
import type { WriteAnswer } from '../../functions/src/catalog/definitions/write-answer.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { list, listedNames, post, put } from '../support/tool.ts'
import { whilePending } from '../support/while-pending.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const putSchema = (name: string, parameters: unknown) =>
  putText(name, JSON.stringify({ description: 'X.', parameters }))
const putText = (name: string, body: string) =>
  server.fetch(`/workflows/tools/defs/${name}`, { method: 'PUT', body })
const properties = (count: number, schema: (index: number) => JsonObject): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, schema(index)])),
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

const REFUSED: readonly [string, JsonObject, string][] = [
  ['a remote $ref', { properties: { a: { $ref: 'https://x.example/s.json' } } }, '/properties/a/$ref'],
  ['a $ref to a file', { properties: { a: { $ref: 'file:///etc/passwd' } } }, '/properties/a/$ref'],
  ['a relative $ref', { properties: { a: { $ref: 'other.json#/a' } } }, '/properties/a/$ref'],
  ['a $ref to nothing', { properties: { a: { $ref: '#/$defs/gone' } } }, '/properties/a/$ref'],
  ['a $ref into Object.prototype', { properties: { a: { $ref: '#/constructor' } } }, '/properties/a/$ref'],
  ['a $ref to itself', { properties: { a: { $ref: '#' } } }, '/properties/a/$ref'],
  [
    'two $refs in a circle',
    { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    '/$defs/b/$ref',
  ],
  ['an $id below the root', { properties: { a: { $id: 'https://x.example/' } } }, '/properties/a/$id'],
  ['a $dynamicRef', { properties: { a: { $dynamicRef: '#x' } } }, '/properties/a/$dynamicRef'],
  ['a $ref that doubles 40 times', bomb(40), ''],
  ['required that is no list', { required: 'x' }, '/required'],
  ['required that says true', { properties: { a: { required: true } } }, '/properties/a/required'],
  ['a string at the root', { type: 'string' }, '/type'],
  ['an array at the root', { type: 'array', items: {} }, '/type'],
  ['two types at the root', { type: ['object', 'null'] }, '/type'],
  ['a type that is none', { properties: { a: { type: 'strng' } } }, '/properties/a/type'],
  ['a number for a schema', { properties: { a: 5 } }, '/properties/a'],
  ['properties that are a list', { properties: [] }, '/properties'],
  ['an integer beyond 2^53', { properties: { a: { maximum: 2 ** 53 } } }, '/properties/a/maximum'],
  ['a pattern that is none', { properties: { a: { pattern: '(' } } }, '/properties/a/pattern'],
  [
    'a pattern of 2,000 characters',
    { properties: { a: { pattern: 'x'.repeat(2_000) } } },
    '/properties/a/pattern',
  ],
  [
    'a mark that is no boolean',
    { properties: { a: { type: 'string', 'x-sensitive': 'true' } } },
    '/properties/a/x-sensitive',
  ],
  ['draft-04', { $schema: 'http://json-schema.org/draft-04/schema#' }, '/$schema'],
  ['33 KB', { description: 'x'.repeat(33 * 1024) }, ''],
  ['2,001 values', { properties: { a: { enum: Array.from({ length: 2_001 }, (_, index) => index) } } }, ''],
]
test.each(REFUSED)(
  '%s is a 422 with a JSON pointer, and nothing is stored',
  async (_what, schema, pointer) => {
    const answer = await putSchema('refused', schema)
    const { httpStatus, reason, details, message } = await errorAnswer(answer)
    expect([httpStatus, reason]).toEqual([422, 'SCHEMA_REJECTED'])
    const [first] = details
    if (_what.startsWith('a $ref that doubles'))
      expect(first?.['pointer']).toMatch(/^\/parameters\/\$defs\/d\d+/)
    else expect(first?.['pointer']).toBe(`/parameters${pointer}`)
    expect(message.startsWith(`/parameters${pointer}`)).toBe(true)
    expect(message.length).toBeLessThan(400)
    expect(await listedNames(server, 'names=refused')).toEqual([])
  },
)

test('3,000 levels are a 422 that points at the first level too many, and the server goes on', async () => {
  const schema = `${'{"properties":{"a":'.repeat(1_500)}true${'}}'.repeat(1_500)}`
  const answer = await errorAnswer(await putText('refused', `{"parameters":${schema}}`))
  const pointer = `/parameters${'/properties/a'.repeat(16)}`
  expect(answer).toMatchObject({ httpStatus: 422, details: [{ reason: 'SCHEMA_REJECTED', pointer }] })
  expect(await listedNames(server, 'names=refused')).toEqual([])
})

test.each([[[]], ['x'], [5], [null], [true]])('parameters that are %j are a 422', async (parameters) => {
  const answer = await errorAnswer(await putSchema('refused', parameters))
  expect(answer).toMatchObject({ httpStatus: 422, details: [{ pointer: '/parameters' }] })
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

test.each([
  ['a catastrophic pattern', '^(a+)+$', false],
  ['a look-ahead', '^(?=.*\\d).+$', true],
  ['a look-behind', '(?<!a)b', true],
  ['a back-reference', '(a)\\1', true],
  ['a repetition that RE2 finds too large', '(a{1000}){1000}', true],
])(
  '%s is admitted, stays in the schema, and is named where it is not enforced',
  async (_what, pattern, unenforced) => {
    const answer = await putSchema('pattern', {
      type: 'object',
      properties: { a: { type: 'string', pattern } },
    })
    expect(answer.ok).toBe(true)
    const body = (await answer.json()) as WriteAnswer
    expect(body.unenforced.map(({ pointer }) => pointer)).toEqual(
      unenforced ? ['/parameters/properties/a/pattern'] : [],
    )
    const [listed] = await list(server, 'names=pattern')
    expect(listed?.function.parameters['properties']).toEqual({ a: { type: 'string', pattern } })
  },
)

test.each([
  [
    'bare OpenAI function',
    { name: 'loose', description: 'D.', parameters: { type: 'object' }, strict: true },
  ],
  [
    'MCP tool',
    { name: 'loose', title: 'L', description: 'D.', inputSchema: { type: 'object' }, outputSchema: {} },
  ],
  ['Anthropic tool', { name: 'loose', description: 'D.', input_schema: { type: 'object' } }],
  ['Gemini declaration', { name: 'loose', description: 'D.', parametersJsonSchema: { type: 'object' } }],
])('a %s is read as what it is, and the answer says so', async (kind, sent) => {
  const answer = await put(server, 'loose', sent)
  expect(answer.ok).toBe(true)
  const { normalised } = (await answer.json()) as WriteAnswer
  expect(normalised).toContainEqual({ pointer: '', from: kind, to: 'function tool' })
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
