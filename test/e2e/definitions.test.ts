import type { ErrorBody } from '@toolrack/contract'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { gzipSync } from 'node:zlib'
import type { WriteAnswer } from '../../functions/src/catalog/definitions/write-answer.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { answersTo, NO_TOOL_NAMES } from '../support/no-tool-names.ts'
import { Server } from '../support/server.ts'
import { list, listedNames, post, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

type Definition = {
  readonly name: string
  readonly layer: string
  readonly digest: string
  readonly revision: string
  readonly updatedAt: string
  readonly definition: unknown
}
const get = (name: string, query = '', headers: Record<string, string> = {}) =>
  server.fetch(`/workflows/tools/defs/${name}${query}`, { headers })
const read = async (name: string, query = ''): Promise<Definition> =>
  (await (await get(name, query)).json()) as Definition
const written = async (answer: Promise<Response>): Promise<WriteAnswer> =>
  (await (await answer).json()) as WriteAnswer

const digestOf = async (body: unknown) => (await written(put(server, 'digested', body))).digest

describe('a definition', () => {
  test('goes in with 201, comes out as written, and is listed at once', async () => {
    const answer = await put(server, 'fresh', tool('fresh'))
    expect(answer.status).toBe(201)
    const body = (await answer.json()) as WriteAnswer
    expect(Object.keys(body).join()).toBe('name,layer,outcome,digest,revision,normalised,unenforced,shadows')
    expect(body).toMatchObject({
      name: 'fresh',
      layer: 'user',
      outcome: 'created',
      normalised: [],
      shadows: [],
    })
    expect(body.digest).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(answer.headers.get('etag')).toBe(`"${body.digest}"`)
    const { definition, ...rest } = await read('fresh')
    expect(definition).toEqual(tool('fresh'))
    expect(rest).toMatchObject({ name: 'fresh', layer: 'user', digest: body.digest, revision: body.revision })
    expect(new Date(rest.updatedAt).toISOString()).toBe(rest.updatedAt)
    expect(await listedNames(server, 'names=fresh')).toEqual(['fresh'])
    const again = await written(put(server, 'fresh', tool('fresh')))
    expect(again).toEqual({ ...body, outcome: 'unchanged' })
    const unread = await get('fresh', '', { 'If-None-Match': `W/"${body.digest}"` })
    expect([unread.status, await unread.text(), unread.headers.get('etag')]).toEqual([
      304,
      '',
      `"${body.digest}"`,
    ])
  })

  test('is listed with every key that its author wrote, and with the three that clients read after them', async () => {
    const parameters = {
      description: 'Everything.',
      $defs: { name: { type: 'string', minLength: 1, default: 'x' } },
      properties: {
        zeta: { $ref: '#/$defs/name' },
        alpha: { type: 'array', items: { type: ['string', 'null'], enum: ['a', null] }, uniqueItems: true },
        any: true,
      },
      additionalProperties: false,
      anyOf: [{ required: ['zeta'] }, { required: ['alpha'] }],
      'x-own': { deep: [1.5, 1e-7, -0.25, 9_007_199_254_740_991] },
    }
    expect((await put(server, 'whole', { description: 'Whole.', parameters })).status).toBe(201)
    const [listed] = await list(server, 'names=whole')
    expect(JSON.stringify(listed?.function.parameters)).toBe(
      JSON.stringify({ ...parameters, type: 'object', required: [] }),
    )
    expect((await read('whole')).definition).toMatchObject({ function: { parameters } })
  })

  test('keeps its runner, tags, annotations, limits and seal as written', async () => {
    const more = {
      runner: { kind: 'http', url: 'https://x.example/y', headers: { a: 'b' } },
      category: 'own',
      tags: ['one', 'two words'],
      annotations: { title: 'T', readOnlyHint: true, vendorHint: [1] },
      limits: { timeoutSeconds: 2.5 },
      sealed: false,
    }
    expect((await put(server, 'rich', tool('rich', 'Rich.', more))).status).toBe(201)
    expect((await read('rich')).definition).toEqual(tool('rich', 'Rich.', more))
  })

  test('has a digest of what a caller relies on: not of tags and key order', async () => {
    const base = await digestOf(tool('digested'))
    expect(await digestOf(tool('digested', undefined, { tags: ['new'], category: 'other' }))).toBe(base)
    const { function: fn, type } = tool('digested') as { function: { parameters: object }; type: string }
    const { parameters } = fn
    const turned = Object.fromEntries(Object.entries(parameters).toReversed())
    expect(await digestOf({ function: { ...fn, parameters: turned }, type })).toBe(base)
    const others = [
      tool('digested', 'Other.'),
      { type, function: { ...fn, parameters: { ...parameters, required: [] } } },
    ]
    for (const other of others) expect(await digestOf(other)).not.toBe(base)
  })

  test('that is deleted is told, and then is a 404 and no longer listed', async () => {
    const { digest } = await written(put(server, 'going', tool('going')))
    const answer = await remove(server, 'going')
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ name: 'going', layer: 'user', outcome: 'deleted', digest })
    expect(await errorAnswer(await get('going'))).toMatchObject({ httpStatus: 404, reason: 'TOOL_NOT_FOUND' })
    expect(await errorAnswer(await remove(server, 'going'))).toMatchObject({ httpStatus: 404 })
    expect(await listedNames(server, 'names=going')).toEqual([])
  })

  test('of the file layer is read like any other and says where it stands', async () => {
    const file = (await read('READ_FILE', '?layer=file')) as Definition & { source: string }
    expect(file).toMatchObject({ name: 'READ_FILE', layer: 'file' })
    expect(file.source).toMatch(/^[a-z]+\.json#\/tools\/\d+$/)
    expect((await get('READ_FILE')).status).toBe(404)
  })

  test('without a name takes that of the path', async () => {
    expect(await written(put(server, 'of_path', { description: 'X.' }))).toMatchObject({ name: 'of_path' })
    const wrapped = { type: 'function', function: { description: 'Y.', parameters: { type: 'object' } } }
    expect(await written(put(server, 'of_path', wrapped))).toMatchObject({
      outcome: 'updated',
      normalised: [],
    })
    const folded = { defs: wrapped }
    expect(await written(put(server, 'of_path', folded))).toMatchObject({ outcome: 'unchanged' })
  })
})

type Version = {
  readonly revision: string
  readonly digest?: string
  readonly deleted: boolean
  readonly by: string
  readonly at: string
  readonly definition?: { function: { description: string } }
}
async function versions(name: string, query = ''): Promise<readonly Version[]> {
  const answer = await get(`${name}/versions`, query)
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { items: Version[] }).items
}
function rollback(name: string, choice: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const body = JSON.stringify(choice)
  return server.fetch(`/workflows/tools/defs/${name}/rollback`, { method: 'POST', body, headers })
}
async function description(name: string): Promise<string | undefined> {
  return (await list(server, `names=${name}`))[0]?.function.description
}

describe('the versions of a definition', () => {
  test('are the newest first, with who and when, a deletion among them', async () => {
    await put(server, 'history', tool('history', 'One.'))
    await put(server, 'history', tool('history', 'Two.'))
    await remove(server, 'history')
    await put(server, 'history', tool('history', 'Three.'))
    const items = await versions('history')
    expect(items.map((item) => item.definition?.function.description ?? item.deleted)).toEqual([
      'Three.',
      true,
      'Two.',
      'One.',
    ])
    expect(new Set(items.map(({ revision }) => revision)).size).toBe(4)
    for (const { by, at } of items) {
      expect(by).toBe('local')
      expect(new Date(at).toISOString()).toBe(at)
    }
  })

  test('can be rolled back to by revision or digest, each as a new version, unless it is the present one', async () => {
    await put(server, 'rolled', tool('rolled', 'One.'))
    await put(server, 'rolled', tool('rolled', 'Two.'))
    const [two, one] = await versions('rolled')
    const answer = await rollback('rolled', { digest: one?.digest })
    expect(answer.headers.get('etag')).toBe(`"${one?.digest}"`)
    expect(await answer.json()).toMatchObject({ outcome: 'updated', digest: one?.digest, normalised: [] })
    expect(await description('rolled')).toBe('One.')
    await rollback('rolled', { revision: two?.revision })
    expect(await description('rolled')).toBe('Two.')
    const items = await versions('rolled')
    expect(items).toHaveLength(4)
    expect(await (await rollback('rolled', { digest: two?.digest })).json()).toMatchObject({
      outcome: 'unchanged',
      revision: items[0]?.revision,
    })
    expect(await versions('rolled')).toHaveLength(4)
  })

  test('bring a deleted definition back, but not its deletion', async () => {
    const original = tool('revived', 'Alive.', { tags: ['kept'], runner: { kind: 'builtin' } })
    await put(server, 'revived', original)
    await remove(server, 'revived')
    const [deletion, alive] = await versions('revived')
    expect(await errorAnswer(await rollback('revived', { revision: deletion?.revision }))).toMatchObject({
      httpStatus: 404,
      reason: 'VERSION_NOT_FOUND',
    })
    expect((await rollback('revived', { revision: alive?.revision })).status).toBe(200)
    expect((await read('revived')).definition).toEqual(original)
  })

  test('and the bytes of every list outlive a restart, and each layer has its own', async () => {
    await put(server, 'layered', tool('layered', 'User.'))
    await put(server, 'layered', tool('layered', 'Global.'), { layer: 'global' })
    const snapshot = async (query: string): Promise<unknown> => {
      const answer = await server.fetch(`/workflows/tools/list${query}`)
      return [answer.headers.get('etag'), answer.headers.get('x-tools-revision'), await answer.text()]
    }
    const queries = ['', '?envelope=items', '?names=layered,READ_FILE,lost', '?limit=2', '?dialect=mcp']
    const before = [await versions('layered'), await Promise.all(queries.map(snapshot))]
    expect([await versions('layered'), await Promise.all(queries.map(snapshot))]).toEqual(before)
    await server.stop()
    await server.restart()
    expect([await versions('layered'), await Promise.all(queries.map(snapshot))]).toEqual(before)
    const items = await versions('layered', '?layer=global')
    expect(items.map((item) => item.definition?.function.description)).toEqual(['Global.'])
  })
})

async function write(name: string, text: string, headers: Record<string, string> = {}): Promise<Response> {
  return put(server, name, tool(name, text), { headers })
}
async function tagOf(name: string): Promise<string> {
  return (await get(name)).headers.get('etag') ?? 'absent'
}

describe('a precondition', () => {
  const NEVER = `"sha256:${'0'.repeat(64)}"`

  test('If-Match with the present entity tag writes, in every form that a header may have', async () => {
    await write('matched', 'Version 0.')
    const forms = [
      (tag: string) => tag,
      (tag: string) => `W/${tag}`,
      (tag: string) => `"x", ${tag}`,
      () => '*',
    ]
    for (const [index, form] of forms.entries()) {
      const headers = { 'If-Match': form(await tagOf('matched')) }
      expect((await write('matched', `Version ${index + 1}.`, headers)).status).toBe(200)
    }
  })

  test('If-Match with another tag, or for what does not exist, is a 412 and changes nothing', async () => {
    await write('kept', 'Kept.')
    const tag = await tagOf('kept')
    for (const answer of [
      await write('kept', 'Other.', { 'If-Match': NEVER }),
      await remove(server, 'kept', 'user', { 'If-Match': NEVER }),
      await write('absent_a', 'New.', { 'If-Match': '*' }),
      await write('absent_a', 'New.', { 'If-Match': NEVER }),
    ]) {
      expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 412, reason: 'PRECONDITION_FAILED' })
    }
    expect(await tagOf('kept')).toBe(tag)
    expect(await tagOf('absent_a')).toBe('absent')
  })

  test('If-None-Match: * creates and never overwrites', async () => {
    const create = { 'If-None-Match': '*' }
    expect((await write('once', 'First.', create)).status).toBe(201)
    expect((await write('once', 'First.', create)).status).toBe(412)
    expect((await write('once', 'Second.', create)).status).toBe(412)
    expect((await write('once', 'Second.', { 'If-None-Match': NEVER })).status).toBe(200)
    expect((await write('once', 'Third.', { 'If-None-Match': await tagOf('once') })).status).toBe(412)
  })

  test('with the present tag lets a deletion happen; of what is absent it is a 404, not a 412', async () => {
    await write('leaving', 'X.')
    const headers = { 'If-Match': await tagOf('leaving') }
    expect((await remove(server, 'leaving', 'user', headers)).status).toBe(200)
    expect((await remove(server, 'leaving', 'user', headers)).status).toBe(404)
  })

  test('that cannot be read is a 400, and nothing is written', async () => {
    for (const name of ['If-Match', 'If-None-Match']) {
      const answer = await errorAnswer(await write('headers', 'X.', { [name]: '"open' }))
      expect(answer).toMatchObject({
        httpStatus: 400,
        reason: 'HEADER_INVALID',
        message: `${name} must be * or quoted entity tags, such as "sha256:…".`,
      })
    }
    expect(await tagOf('headers')).toBe('absent')
  })

  test('lets exactly one of two writes at once on the same If-Match win, and the other is a 412', async () => {
    await write('raced', 'Start.')
    for (let round = 0; round < 20; round += 1) {
      const headers = { 'If-Match': await tagOf('raced') }
      const answers = await Promise.all(
        ['a', 'b'].map(async (who) => (await write('raced', `Round ${round} of ${who}.`, headers)).status),
      )
      expect(answers.toSorted((a, b) => a - b)).toEqual([200, 412])
    }
  })

  test('lets exactly one of eight creators at once with If-None-Match: * create', async () => {
    for (let round = 0; round < 5; round += 1) {
      const creators = Array.from({ length: 8 }, async (_, who) => {
        return (await write(`created_${round}`, `By ${who}.`, { 'If-None-Match': '*' })).status
      })
      const statuses = (await Promise.all(creators)).toSorted((a, b) => a - b)
      expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 412)])
    }
  })

  test('is obeyed by a rollback too', async () => {
    await write('rolled_if', 'One.')
    const first = await tagOf('rolled_if')
    await write('rolled_if', 'Two.')
    const choice = { digest: first.replaceAll('"', '') }
    expect((await rollback('rolled_if', choice, { 'If-Match': first })).status).toBe(412)
    expect((await rollback('rolled_if', choice, { 'If-Match': await tagOf('rolled_if') })).status).toBe(200)
    expect(await tagOf('rolled_if')).toBe(first)
  })
})

/** By PUT under the name, and by POST with the name in the body. */
async function bothWays(name: string) {
  return [
    await errorAnswer(await put(server, name, { description: 'X.' })),
    await errorAnswer(await post(server, [{ name, description: 'X.' }])),
  ]
}

describe('a name', () => {
  beforeAll(async () => {
    const global = [tool('Pay', 'Pays.', { sealed: true }), tool('Ship', 'Ships.')]
    expect((await post(server, global, 'layer=global')).status).toBe(200)
  })

  test.each([
    ['one Cyrillic letter', 'P\u0430y'],
    ['a zero-width space', 'Pa\u200By'],
  ])('that reads like a sealed tool by %s is a 409 with the layer of that tool', async (_what, name) => {
    const [single, bulk] = await bothWays(name)
    expect(single).toMatchObject({ httpStatus: 409, reason: 'NAME_SEALED', details: [{ layer: 'global' }] })
    expect(bulk).toMatchObject({
      httpStatus: 409,
      reason: 'NAME_SEALED',
      details: [{ index: 0, layer: 'global' }],
    })
    expect(await listedNames(server)).not.toContain(name)
  })

  test('that reads like another tool, not sealed, is a 400 that says which and where', async () => {
    const [single, bulk] = await bothWays('Sh\u0456p')
    expect(single).toMatchObject({ httpStatus: 400, reason: 'NAME_INVALID', details: [{ layer: 'global' }] })
    expect(single?.message).toContain('the name reads like Ship of the global layer')
    expect(bulk).toMatchObject({ httpStatus: 422, details: [{ reason: 'NAME_INVALID', layer: 'global' }] })
    expect(await listedNames(server)).not.toContain('Sh\u0456p')
  })

  test.each([['__x__'], ['constructor'], ['a/b'], ['a\nb'], ['名前'], ['a'.repeat(129)]])(
    '%j is not one: a 400 with a pointer that does not repeat it, and nothing is stored',
    async (name) => {
      const [single, bulk] = await bothWays(name)
      expect(single).toMatchObject({ httpStatus: 400, reason: 'NAME_INVALID' })
      expect(bulk).toMatchObject({
        httpStatus: 422,
        details: [{ reason: 'NAME_INVALID', pointer: '/name', index: 0 }],
      })
      expect(`${single?.message}`.length).toBeLessThan(250)
      expect(JSON.stringify([single, bulk])).not.toMatch(/名前|a{129}|__x__"/)
      expect(await listedNames(server)).not.toContain(name)
    },
  )

  test.each(['A.b:c-d_1', '__dunder', 'toString', 'hasOwnProperty', 'x'.repeat(128)])(
    '%s is one like any other',
    async (name) => {
      expect((await put(server, name, { description: 'X.' })).status).toBe(201)
      expect(await listedNames(server, `names=${name}`)).toEqual([name])
    },
  )

  test.each([...NO_TOOL_NAMES, '€', 'nothing', 'valueOf'])(
    '%j in a path, which is none or no tool has, is a 404 for every other route of a definition',
    async (name) => {
      for (const answer of await answersTo(name, (path, init) => server.fetch(path, init)))
        expect(answer).toMatchObject({ httpStatus: 404, reason: 'TOOL_NOT_FOUND' })
    },
  )
})

const revision = async (): Promise<string | null> =>
  (await server.fetch('/workflows/tools/list?names=[]')).headers.get('x-tools-revision')

const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))

const definitionOf = (length: number): string => JSON.stringify({ description: 'x' }).padEnd(length)

/** Runs what must store nothing. */
async function storesNothing(work: () => Promise<void>): Promise<void> {
  const before = await revision()
  await work()
  expect(await revision()).toBe(before)
}

describe('the body of a write', () => {
  const PUT = { method: 'PUT', path: '/workflows/tools/defs/body' }
  const POST = { method: 'POST', path: '/workflows/tools/defs' }
  function send(
    { method, path }: typeof PUT,
    body: string | Uint8Array,
    headers: Record<string, string> = {},
  ) {
    return server.fetch(path, { method, body: body as string, headers })
  }
  const REFUSED: readonly [string, string | Uint8Array, string][] = [
    ['an empty body', '', 'The body is empty.'],
    ['invalid UTF-8', bytes('{"description":"', [0xc3, 0x28], '"}'), 'The body is not UTF-8.'],
    ['a trailing comma', '{\n  "description": "x",\n}', 'The body is not valid JSON (line 3, column 1).'],
    [
      '__proto__ written with escapes, deep down',
      '{"parameters":{"properties":{"\\u005f_proto__":{}}}}',
      'The body holds the key __proto__, which is never allowed (at /parameters/properties/__proto__).',
    ],
    [
      'a key twice, once escaped, in a schema',
      '{"parameters":{"type":"object","t\\u0079pe":"object"}}',
      'The body holds the same key twice; which of them counts is unclear (at /parameters/type).',
    ],
    [
      'a number that would be stored as null',
      '{"name":"body","limits":{"own":1e400}}',
      'The body holds a number that is too large to be read (at /limits/own).',
    ],
    [
      'depth 33',
      `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`,
      `The body is nested deeper than 32 levels (at ${'/a'.repeat(32)}).`,
    ],
    ['a text', '"secret_value"', ''],
    ['half an object', '{"secret_value":1', 'The body is not valid JSON (it ends too early).'],
  ]
  test.each(REFUSED)(
    'is refused if it is %s, by PUT and by POST: it is not repeated, and nothing is stored or logged',
    (_what, body, message) =>
      storesNothing(async () => {
        for (const target of [PUT, POST]) {
          const answer = await errorAnswer(await send(target, body))
          expect(answer).toMatchObject({ httpStatus: 400, reason: 'BODY_INVALID' })
          if (message !== '') expect(answer.message).toBe(message)
          expect(JSON.stringify(answer)).not.toContain('secret_value')
        }
        expect(server.log).not.toMatch(/^error/m)
      }),
  )

  test('may have 256 KB, and in a bulk 1 MB, and is a 413 with one byte more', async () => {
    await storesNothing(async () => {
      expect((await send(PUT, definitionOf(256 * 1024 + 1))).status).toBe(413)
      const answer = await errorAnswer(await send(POST, '[5]'.padEnd(1024 * 1024 + 1)))
      expect(answer).toMatchObject({ httpStatus: 413, reason: 'BODY_TOO_LARGE' })
      expect((await send(POST, '[5]'.padEnd(1024 * 1024))).status).toBe(422)
    })
    const path = '/workflows/tools/defs/body_of_256_kb'
    expect((await send({ method: 'PUT', path }, definitionOf(256 * 1024))).status).toBe(201)
  })

  test('that is a gzip bomb is a 413 as soon as it is too large: the part of it that is broken is never reached', () =>
    storesNothing(async () => {
      const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))
      expect(bomb.length).toBeLessThan(256 * 1024)
      for (const target of [PUT, POST]) {
        const answer = await send(target, Buffer.concat([bomb.subarray(0, 50_000), Buffer.from('broken')]), {
          'Content-Encoding': 'gzip',
        })
        expect(answer.status).toBe(413)
        expect(((await answer.json()) as ErrorBody).error.details).toMatchObject([
          { reason: 'BODY_TOO_LARGE' },
        ])
      }
    }))

  test('may be compressed; a broken one is a 400, an unknown encoding is a 400 that lists them', () =>
    storesNothing(async () => {
      const compressed = gzipSync('[5]')
      expect((await send(POST, compressed, { 'Content-Encoding': 'gzip' })).status).toBe(422)
      expect((await send(POST, '[5]', { 'Content-Encoding': 'gzip' })).status).toBe(400)
      expect((await send(POST, compressed.subarray(0, 15), { 'Content-Encoding': 'gzip' })).status).toBe(400)
      const answer = await errorAnswer(await send(POST, '[5]', { 'Content-Encoding': 'lzma' }))
      expect(answer.message).toBe('The Content-Encoding is not known; send gzip, deflate, br or none.')
    }))

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'nonsense',
    '',
  ])('is JSON, also with a Content-Type of %j', async (type) => {
    expect((await send(POST, '[5]', { 'Content-Type': type })).status).toBe(422)
  })
})
