import { afterAll, expect, test } from '@jest/globals'
import { writeCursor } from '../../functions/src/catalog/views/list-query.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const refused = async (query: string, path = 'list') =>
  errorAnswer(await server.fetch(`/workflows/tools/${path}?${query}`))

const LIMIT = 'must be a whole number from 1 to 1000'
const ENVELOPE = 'must be array or items'
const DIALECT = 'must be openai or openai-responses or openai-strict or anthropic or gemini or mcp'
const STRICT = 'must be 0 or 1 or false or true'
const CURSOR = 'is not one that this service gave; take it from the Link header'
test.each([
  ...['0', '-1', '1e9', '1000000000', '1001', 'abc', '', '1.5', '0x10', '٣'].map((limit) => [
    'limit',
    limit,
    LIMIT,
  ]),
  ...['', 'Array', 'object', 'items,array'].map((envelope) => ['envelope', envelope, ENVELOPE]),
  ...['', 'OpenAI', 'claude', 'openai,gemini', 'constructor'].map((dialect) => ['dialect', dialect, DIALECT]),
  ...['', 'yes', '2', 'TRUE'].map((strict) => ['strict', strict, STRICT]),
  ...['', 'abc', '€', 'dXNlci8', '../../etc/passwd', 'x'.repeat(10_000)].map((cursor) => [
    'cursor',
    cursor,
    CURSOR,
  ]),
  ['cursor', Buffer.from('nolayer/a').toString('base64url'), CURSOR],
  ['cursor', Buffer.from('user/not a name').toString('base64url'), CURSOR],
  ['cursor', `${writeCursor({ layer: 'user', name: 'a' })}=`, CURSOR],
  ['tags', Array.from({ length: 51 }, (_, n) => n).join(), 'holds 51 values; at most 50 are allowed'],
  ['category', Array.from({ length: 51 }, (_, n) => n).join(), 'holds 51 values; at most 50 are allowed'],
])('%s=%j is a 400 that names the parameter and what is allowed', async (parameter, value, fault) => {
  const answer = await refused(`${parameter}=${encodeURIComponent(value ?? '')}`)
  expect(answer).toEqual({
    httpStatus: 400,
    reason: 'PARAMETER_INVALID',
    message: `The parameter ${parameter} ${fault}.`,
    details: [{ reason: 'PARAMETER_INVALID', parameter }],
  })
})

test.each([
  'limit=5&limit=6',
  'dialect=mcp&dialect=mcp',
  'envelope=items&envelope=items',
  'cursor=a&cursor=b',
  'strict=0&strict=1',
])('?%s is a 400: which of the two counts is unclear', async (query) => {
  const answer = await refused(query)
  expect(answer).toMatchObject({ httpStatus: 400, reason: 'PARAMETER_INVALID' })
  expect(answer.message).toMatch(/is given more than once\.$/)
})

test.each(['bogus=1', 'Names=a', 'limits=3', 'constructor=1', '__proto__=1', 'name s=1', '=1', 'filter[]=a'])(
  '?%s is not known: a 400 that lists what is',
  async (query) => {
    const answer = await refused(query)
    expect(answer).toMatchObject({ httpStatus: 400, reason: 'PARAMETER_UNKNOWN' })
    expect(answer.message).toMatch(
      /known are names, name, only, tags, category, q, with, loaded, dialect, envelope, strict, scope, session, limit, cursor, budget, tokens, explain\.$/,
    )
  },
)

test('a rejected parameter name or value is not repeated', async () => {
  const evil = encodeURIComponent('<script>€\r\nX: 1')
  for (const query of [
    `${evil}=1`,
    `envelope=${evil}`,
    `limit=${evil}`,
    `cursor=${evil}`,
    `names=[${evil}`,
  ]) {
    const answer = await server.fetch(`/workflows/tools/list?${query}`)
    expect(answer.status).toBe(400)
    expect(`${[...answer.headers].join()}${await answer.text()}`).not.toMatch(/script|€|X: 1/)
  }
})

test.each([
  ['explain', 'The parameter name is missing.'],
  ['explain?name=', 'The parameter name is missing.'],
  ['explain?name=no%20name', 'The parameter name must be one tool name or alias.'],
  ['explain?name=a&name=b', 'The parameter name is given more than once.'],
  ['defs?layer=all', 'The parameter layer must be user or global or file.'],
  ['defs?limit=0', 'The parameter limit must be a whole number from 1 to 1000.'],
  ['defs/READ_FILE/versions?layer=file', 'The parameter layer must be user or global.'],
])('/tools/%s is a 400: %s', async (path, message) => {
  const answer = await errorAnswer(await server.fetch(`/workflows/tools/${path}`))
  expect(answer).toMatchObject({ httpStatus: 400, reason: 'PARAMETER_INVALID', message })
})

test('an error is never cached, and a list that was refused is not kept for the next', async () => {
  const answer = await server.fetch('/workflows/tools/list?limit=0')
  expect(answer.headers.get('cache-control')).toBe('private, no-store')
  expect(answer.headers.get('etag')).toBeNull()
  expect((await server.fetch('/workflows/tools/list?limit=0')).status).toBe(400)
  expect((await server.fetch('/workflows/tools/list?limit=1')).status).toBe(200)
})
