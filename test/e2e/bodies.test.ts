import { afterAll, expect, test } from '@jest/globals'
import type { ErrorBody } from '@toolrack/contract'
import { gzipSync } from 'node:zlib'
import { errorAnswer } from '../support/error-answer.ts'
import { rawConnection, readAnswer } from '../support/raw-http.ts'
import { Server } from '../support/server.ts'
import { listedNames } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const revision = async (): Promise<string | null> =>
  (await server.fetch('/workflows/tools/list?names=[]')).headers.get('x-tools-revision')
const EMPTY = await revision()
async function expectNothingStored(): Promise<void> {
  expect(await revision()).toBe(EMPTY)
}

const PUT = { method: 'PUT', path: '/workflows/tools/defs/body' }
const POST = { method: 'POST', path: '/workflows/tools/defs' }
type Target = typeof PUT
function send({ method, path }: Target, body: string | Uint8Array, headers: Record<string, string> = {}) {
  return server.fetch(path, { method, body: body as string, headers })
}

const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

const REFUSED: readonly [string, string | Uint8Array, string][] = [
  ['an empty body', '', 'The body is empty.'],
  ['blanks only', ' \n\t', 'The body is empty.'],
  [
    'a byte order mark',
    bytes([0xef, 0xbb, 0xbf], '{}'),
    'The body starts with a byte order mark; send plain UTF-8.',
  ],
  ['UTF-16', Buffer.from('\uFEFF{"name":"x"}', 'utf16le'), 'The body is not UTF-8.'],
  ['invalid UTF-8', bytes('{"description":"', [0xc3, 0x28], '"}'), 'The body is not UTF-8.'],
  ['an overlong slash', bytes('{"description":"', [0xc0, 0xaf], '"}'), 'The body is not UTF-8.'],
  [
    'half a surrogate in UTF-8',
    bytes('{"description":"', [0xed, 0xa0, 0x80], '"}'),
    'The body is not UTF-8.',
  ],
  ['NaN', '{"limits":{"timeoutSeconds":NaN}}', 'The body is not valid JSON (line 1, column 29).'],
  ['Infinity', '{"limits":{"timeoutSeconds":-Infinity}}', 'The body is not valid JSON (line 1, column 30).'],
  ['single quotes', "{'name':'x'}", 'The body is not valid JSON (line 1, column 2).'],
  ['a trailing comma', '{\n  "description": "x",\n}', 'The body is not valid JSON (line 3, column 1).'],
  ['a comment', '// x\n{}', 'The body is not valid JSON (line 1, column 1).'],
  ['two values', '{}{}', 'The body is not valid JSON (line 1, column 3).'],
  ['half an object', '{"description":"x"', 'The body is not valid JSON (it ends too early).'],
  ['a form', 'name=x&description=y', 'The body is not valid JSON (line 1, column 2).'],
  [
    '__proto__',
    '{"__proto__":{"x":1}}',
    'The body holds the key __proto__, which is never allowed (at /__proto__).',
  ],
  [
    '__proto__ written with escapes, deep down',
    '{"parameters":{"properties":{"\\u005f_proto__":{}}}}',
    'The body holds the key __proto__, which is never allowed (at /parameters/properties/__proto__).',
  ],
  [
    'a key twice',
    '{"description":"a","description":"b"}',
    'The body holds the same key twice; which of them counts is unclear (at /description).',
  ],
  [
    'a key twice, once escaped, in a schema',
    '{"parameters":{"type":"object","t\\u0079pe":"object"}}',
    'The body holds the same key twice; which of them counts is unclear (at /parameters/type).',
  ],
  ['depth 33', deep(33), `The body is nested deeper than 32 levels (at ${'/a'.repeat(32)}).`],
  ['depth 100,000', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, ''],
]
test.each(REFUSED)('%s is a 400 by PUT and by POST, and nothing is stored', async (_what, body, message) => {
  for (const target of [PUT, POST]) {
    const answer = await errorAnswer(await send(target, body))
    expect(answer).toMatchObject({ httpStatus: 400, reason: 'BODY_INVALID' })
    if (message === '') expect(answer.message).toMatch(/^The body is nested deeper than 32 levels/)
    else expect(answer.message).toBe(message)
  }
  await expectNothingStored()
})

test.each(['5', '"text"', 'null', 'true', '[]', '[1]', '1e400'])(
  '%s in place of an object is refused',
  async (body) => {
    expect((await send(PUT, body)).status).toBe(400)
    expect([400, 422]).toContain((await send(POST, body)).status)
    await expectNothingStored()
  },
)

test('a number that JavaScript can not hold is refused, for it would be stored as null', async () => {
  const numbers = ['1e400', '-1e400', `1${'0'.repeat(400)}`]
  for (const number of numbers) {
    for (const body of [
      `{"name":"body","limits":{"own":${number}}}`,
      `{"name":"body","parameters":{"type":"object","properties":{"a":{"default":${number}}}}}`,
    ]) {
      for (const target of [PUT, POST]) {
        const answer = await send(target, body)
        expect([number, answer.status]).toEqual([number, 400])
        expect((await errorAnswer(answer)).message).toMatch(
          /\(at \/(limits\/own|parameters\/properties\/a\/default)\)/,
        )
      }
    }
  }
  await expectNothingStored()
})

const padded = (length: number): string => JSON.stringify({ description: 'x' }).padEnd(length)
test('a body of 256 KB is read and one byte more is a 413', async () => {
  expect((await send(PUT, padded(256 * 1024 + 1))).status).toBe(413)
  await expectNothingStored()
  await using other = await Server.start()
  const body = padded(256 * 1024)
  expect((await other.fetch(PUT.path, { method: 'PUT', body })).status).toBe(201)
})

test('a bulk of 1 MB is read and one byte more is a 413', async () => {
  expect((await send(POST, '[5]'.padEnd(1024 * 1024))).status).toBe(422)
  const answer = await errorAnswer(await send(POST, '[5]'.padEnd(1024 * 1024 + 1)))
  expect(answer).toMatchObject({ httpStatus: 413, reason: 'BODY_TOO_LARGE' })
  await expectNothingStored()
})

test('a body without a Content-Length is measured all the same', async () => {
  const socket = await rawConnection(server.url)
  const head = `PUT ${PUT.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n`
  socket.write(`${head}Authorization: Bearer ${server.token}\r\n\r\n`)
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  for (let count = 0; count < 5; count += 1) socket.write(chunk)
  socket.write('0\r\n\r\n')
  const { status, body } = await readAnswer(socket)
  expect(status).toBe(413)
  expect((JSON.parse(body) as ErrorBody).error.details).toEqual([{ reason: 'BODY_TOO_LARGE' }])
  await expectNothingStored()
})

test('a gzip bomb is a 413 as soon as it is too large: the part of it that is broken is never reached', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))
  expect(bomb.length).toBeLessThan(256 * 1024)
  for (const target of [PUT, POST]) {
    const answer = await send(target, Buffer.concat([bomb.subarray(0, 50_000), Buffer.from('broken')]), {
      'Content-Encoding': 'gzip',
    })
    expect(answer.status).toBe(413)
  }
  await expectNothingStored()
})

test('a compressed body that is no bomb is read, a broken one is a 400, an unknown encoding is a 400 that lists them', async () => {
  const compressed = gzipSync('[5]')
  expect((await send(POST, compressed, { 'Content-Encoding': 'gzip' })).status).toBe(422)
  expect((await send(POST, '[5]', { 'Content-Encoding': 'gzip' })).status).toBe(400)
  expect((await send(POST, compressed.subarray(0, 15), { 'Content-Encoding': 'gzip' })).status).toBe(400)
  const answer = await errorAnswer(await send(POST, '[5]', { 'Content-Encoding': 'lzma' }))
  expect(answer.message).toBe('The Content-Encoding is not known; send gzip, deflate, br or none.')
})

test.each([
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json; charset=latin1',
  'nonsense',
  '',
])('a Content-Type of %j changes nothing: the body is JSON', async (type) => {
  expect((await send(POST, '[5]', { 'Content-Type': type })).status).toBe(422)
})

test('a rejected body is not repeated', async () => {
  const bodies = ['secret_value', '{"secret_value":1,"secret_value":2', '"secret_value"', '["secret_value"]']
  for (const body of bodies) {
    for (const target of [PUT, POST])
      expect(await (await send(target, body)).text()).not.toContain('secret_value')
  }
})

test('after all of this the server lists, writes and has logged no failure', async () => {
  await expectNothingStored()
  expect((await send(PUT, '{"description":"Fine."}')).status).toBe(201)
  expect(await listedNames(server, 'names=body')).toEqual(['body'])
  expect(server.log).not.toMatch(/^error/m)
})
