import { expect, test } from '@jest/globals'
import { grantsDigest, ToolrackError, type ErrorBody } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { absentRunner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { tool } from '../../../support/definition-changes.ts'
import { sha256Of } from '../../../support/module-changes.ts'
import { moduleOf } from '../../../support/modules.ts'
import { checkedModule, readingRunner, textIn } from '../../../support/reading-runner.ts'
import { routeService } from '../../../support/route-service.ts'
import type { Answered, Asked, Asker, RefusedRow } from '../../../support/route-service.ts'

const ask = await routeService()
const runnerless = await routeService([], { runner: absentRunner('No Python was found: install one.') })
const below = await routeService([], {
  runner: {
    ...readingRunner(),
    check: () => Promise.reject(new ToolrackError('ISOLATION_UNAVAILABLE', 'It is below.')),
  },
})
/** Each of the tools of a module has a description of 16 kB. */
const wordy = await routeService([], {
  runner: {
    ...readingRunner(),
    check: (module) => Promise.resolve(checkedModule(textIn(module), 'Does one small thing. '.repeat(720))),
  },
})
const NOTES = moduleOf('notes', 'read')
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const json = { 'Content-Type': 'application/json' }

const put = (name: string, body: unknown, headers: Asked['headers'] = {}): Promise<Answered> =>
  ask('ann', `PUT /tools/modules/${name}`, { body, headers })
const remove = (name: string, headers: Asked['headers'] = {}): Promise<Answered> =>
  ask('ann', `DELETE /tools/modules/${name}`, { headers })
const roll = (name: string, body: unknown, headers: Asked['headers'] = {}): Promise<Answered> =>
  ask('ann', `POST /tools/modules/${name}/rollback`, { body, headers })

/** The names of the tools of a module that are listed. */
async function listed(module: string, who: Asker = 'ann'): Promise<string[]> {
  const { body } = await ask(who, `GET /tools/list?category=${module}`)
  return (body as unknown as { function: { name: string } }[]).map((each) => each.function.name)
}

/** All that an upload can change in a layer. */
async function layerState(by: typeof ask = ask): Promise<unknown> {
  const paths = ['defs', 'modules'].map((what) => `GET /tools/${what}`)
  return Promise.all(paths.map(async (path) => (await by('ann', path)).body))
}

test('a module is uploaded, read, replaced and removed, with its tools', async () => {
  const created = await ask('ann', 'PUT /tools/modules/notes', { body: NOTES })
  expect(created).toMatchObject({
    status: 201,
    body: { outcome: 'created', tools: { added: ['notes:read'] } },
  })
  const etag = `"${sha256(NOTES)}"`
  expect(created.headers.get('ETag')).toBe(etag)
  const read = await ask('ann', 'GET /tools/modules/notes')
  expect(read).toMatchObject({ status: 200, body: { name: 'notes', layer: 'user', source: NOTES } })
  expect(await ask('ann', 'GET /tools/modules/notes', { headers: { 'If-None-Match': etag } })).toMatchObject({
    status: 304,
    body: {},
  })
  const replaced = await ask('ann', 'PUT /tools/modules/notes', { body: moduleOf('notes', 'write') })
  expect(replaced).toMatchObject({ status: 200, body: { tools: { added: ['notes:write'] } } })
  expect(await ask('ann', 'DELETE /tools/modules/notes')).toMatchObject({ status: 200 })
  expect(await ask('ann', 'GET /tools/defs/notes:write')).toMatchObject({ code: 'TOOL_NOT_FOUND' })
})

test('a module comes back as it was sent, with the report of its check, and is listed without both', async () => {
  const source = `\ufeff${moduleOf('readback', 'one')}# "ü" \u2028\r\n`
  const { report, revision } = (await put('readback', source)).body
  const { body, headers } = await ask('ann', 'GET /tools/modules/readback')
  expect(headers.get('ETag')).toBe(`"${sha256(source)}"`)
  expect(body).toEqual({
    name: 'readback',
    layer: 'user',
    sha256: sha256(source),
    tools: ['readback:one'],
    revision,
    updatedAt: expect.any(String),
    updatedBy: 'ann',
    grants: [],
    grantsDigest: grantsDigest([]),
    consent: null,
    created: expect.any(String),
    report,
    source,
  })
  const { report: _report, source: _source, layer: _layer, ...summary } = body
  expect((await ask('ann', 'GET /tools/modules')).body['items']).toContainEqual(summary)
})

const TYPED = moduleOf('typed', 'one')

test.each([
  ['text/x-python; charset=utf-8', TYPED],
  ['application/octet-stream', TYPED],
  ['application/x-www-form-urlencoded', TYPED],
  ['application/json', { source: TYPED }],
])('a module is taken as %s, and is the same', async (type, body) => {
  const answer = await put('typed', body, { 'Content-Type': type })
  expect([200, 201]).toContain(answer.status)
  expect(answer.body['sha256']).toBe(sha256(TYPED))
})

test('a source of 256 KB is taken, as it is and as JSON; one byte more is not', async () => {
  const start = `${moduleOf('large', 'one')}#`
  const source = `${start}${'é'.repeat((256 * 1024 - start.length - 1) / 2)}`
  const full = source.padEnd(source.length + 256 * 1024 - Buffer.byteLength(source), 'x')
  expect(await put('large', full)).toMatchObject({ status: 201, body: { sha256: sha256(full) } })
  expect((await put('large', { source: full }, json)).body['outcome']).toBe('unchanged')
  for (const answer of [await put('large', `${full}x`), await put('large', { source: `${full}x` }, json)])
    expect(answer).toMatchObject({ status: 413, code: 'BODY_TOO_LARGE' })
})

test('a new version adds, changes and takes away its tools in one revision; the same again changes nothing', async () => {
  await put('moving', moduleOf('moving', 'a', 'b'))
  const second = await put('moving', moduleOf('moving', 'b', 'c'))
  expect(second).toMatchObject({
    status: 200,
    body: {
      outcome: 'updated',
      tools: { added: ['moving:c'], changed: ['moving:b'], removed: ['moving:a'], unchanged: [] },
    },
  })
  expect(await listed('moving')).toEqual(['moving:b', 'moving:c'])
  const { revision } = second.body
  const third = await put('moving', moduleOf('moving', 'b', 'c'))
  expect(third.body).toMatchObject({ outcome: 'unchanged', revision })
  expect((await ask('ann', 'GET /tools/defs')).body).toMatchObject({ revision })
})

test('a deleted module takes all of its tools and is gone, its versions stay', async () => {
  const first = await put('leaving', moduleOf('leaving', 'a', 'b'))
  expect((await remove('leaving')).body).toMatchObject({
    outcome: 'deleted',
    tools: { removed: ['leaving:a', 'leaving:b'] },
  })
  expect(await listed('leaving')).toEqual([])
  for (const gone of [await remove('leaving'), await ask('ann', 'GET /tools/modules/leaving')])
    expect(gone).toMatchObject({ status: 404, code: 'MODULE_NOT_FOUND' })
  expect((await ask('ann', 'GET /tools/modules/leaving/versions')).body).toMatchObject({
    items: [
      { deleted: true, tools: [] },
      { deleted: false, sha256: first.body['sha256'], tools: ['leaving:a', 'leaving:b'] },
    ],
  })
})

test('a rollback makes an older source the present version, by digest or revision, also after a deletion', async () => {
  const { sha256: digest, revision } = (await put('rolled', moduleOf('rolled', 'a'))).body
  await put('rolled', moduleOf('rolled', 'b'))
  const back = await roll('rolled', { sha256: digest })
  expect([back.status, back.headers.get('ETag')]).toEqual([200, `"${String(digest)}"`])
  expect(back.body).toMatchObject({
    outcome: 'updated',
    tools: { added: ['rolled:a'], removed: ['rolled:b'] },
    report: { specs: [{ name: 'rolled:a', accepted: true }] },
  })
  await remove('rolled')
  expect((await roll('rolled', { revision })).status).toBe(200)
  expect(await listed('rolled')).toEqual(['rolled:a'])
  const { items } = (await ask('ann', 'GET /tools/modules/rolled/versions')).body as {
    items: { revision: string }[]
  }
  expect(items).toHaveLength(5)
  const deletion = items[1]?.revision
  for (const [name, body, code] of [
    ['rolled', { sha256: '0'.repeat(64) }, 'VERSION_NOT_FOUND'],
    ['rolled', { revision: deletion }, 'VERSION_NOT_FOUND'],
    ['never', { sha256: digest }, 'MODULE_NOT_FOUND'],
    ['rolled', {}, 'BODY_INVALID'],
    ['rolled', { sha256: digest, revision: deletion }, 'BODY_INVALID'],
  ] as const)
    expect((await roll(name, body)).code).toBe(code)
})

test('preconditions are held against the digest of the source', async () => {
  const [one, two] = [moduleOf('guarded', 'a'), moduleOf('guarded', 'b')]
  const never = { 'If-Match': `"${'0'.repeat(64)}"` }
  const present = { 'If-Match': `W/"${sha256(one)}"` }
  const create = { 'If-None-Match': '*' }
  expect((await put('guarded', one, never)).status).toBe(412)
  expect((await put('guarded', one, create)).status).toBe(201)
  const refused = [
    await put('guarded', two, create),
    await put('guarded', two, never),
    await remove('guarded', never),
    await roll('guarded', { sha256: sha256(one) }, never),
  ]
  for (const answer of refused) expect(answer).toMatchObject({ status: 412, code: 'PRECONDITION_FAILED' })
  expect((await put('guarded', two, present)).status).toBe(200)
  expect((await remove('guarded', present)).status).toBe(412)
  expect((await put('guarded', one, { 'If-Match': 'sha' })).status).toBe(400)
})

test('of two uploads at once on the same If-Match one wins with all of its tools, and the other is a 412', async () => {
  let { sha256: tag } = (await put('raced', moduleOf('raced', 'start'))).body
  for (let round = 0; round < 5; round += 1) {
    const [left, right] = await Promise.all(
      ['left', 'right'].map((side) =>
        put('raced', moduleOf('raced', `${side}${round}`, side), { 'If-Match': `"${String(tag)}"` }),
      ),
    )
    expect([left?.status, right?.status].toSorted()).toEqual([200, 412])
    const [side, winner] = left?.status === 200 ? ['left', left] : ['right', right]
    expect(await listed('raced')).toEqual([`raced:${side}`, `raced:${side}${round}`])
    tag = winner?.body['sha256']
  }
})

test('a name that the layer has already is a 409 with its owner, and nothing is written', async () => {
  await ask('ann', 'PUT /tools/defs/taken:a', { body: tool('taken:a') })
  const before = await layerState()
  expect(await put('taken', moduleOf('taken', 'a', 'b'))).toMatchObject({
    status: 409,
    body: {
      error: {
        message: expect.stringMatching(/^The layer has taken:a already, as a definition of its own/),
        details: [{ reason: 'NAME_TAKEN', name: 'taken:a' }],
      },
    },
  })
  expect(await layerState()).toEqual(before)
  await ask('ann', 'DELETE /tools/defs/taken:a')
  expect((await put('taken', moduleOf('taken', 'a', 'b'))).body['outcome']).toBe('created')
})

test('another layer’s tool of the same name is shadowed and shown; a sealed one is a 409', async () => {
  const body = moduleOf('layered', 'a', 'b')
  const global = await ask('admin', 'PUT /tools/modules/layered?layer=global', { body })
  const { specs } = global.body['report'] as { specs: { digest: string }[] }
  const own = await put('layered', moduleOf('layered', 'a', 'c'))
  expect(own.body['shadows']).toEqual([{ name: 'layered:a', layer: 'global', digest: specs[0]?.digest }])
  expect(await listed('layered')).toEqual(['layered:a', 'layered:c', 'layered:b'])
  const sealed = { ...tool('closed:a'), sealed: true }
  await ask('admin', 'PUT /tools/defs/closed:a?layer=global', { body: sealed })
  const before = await layerState()
  expect(await put('closed', moduleOf('closed', 'a', 'b'))).toMatchObject({
    status: 409,
    code: 'NAME_SEALED',
    body: { error: { details: [{ reason: 'NAME_SEALED', name: 'closed:a', layer: 'global' }] } },
  })
  expect(await layerState()).toEqual(before)
})

test.each(['a%2Fb', '__init__', '..%2F..%2Ftools', 'a%00', 'x'.repeat(65)])(
  'a name that no module can have is found nowhere: %s',
  async (name) => {
    for (const request of ['GET %', 'DELETE %', 'GET %/versions'])
      expect(await ask('ann', request.replace('%', `/tools/modules/${name}`))).toMatchObject({
        status: 404,
        code: 'MODULE_NOT_FOUND',
      })
  },
)

test('what an account uploads is in the layer of its user', async () => {
  const body = moduleOf('nightly', 'it')
  expect((await ask('account', 'PUT /tools/modules/nightly', { body })).status).toBe(201)
  expect((await ask('ann', 'GET /tools/modules/nightly')).body).toMatchObject({
    updatedBy: 'ann',
    source: body,
  })
})

test.each([
  [
    'without a runner',
    runnerless,
    'RUNNER_UNAVAILABLE',
    'No module can be checked here, so nothing was written. No Python was found: install one.',
  ],
  ['with a runner below the level that it is asked for', below, 'ISOLATION_UNAVAILABLE', 'It is below.'],
])('%s an upload is a 503 that says why, and nothing is written', async (_what, service, code, message) => {
  const before = await layerState(service)
  const answer = await service('ann', 'PUT /tools/modules/notes', { body: NOTES })
  expect(answer).toMatchObject({ status: 503, code, body: { error: { message } } })
  expect(await layerState(service)).toEqual(before)
})

test('an upload without a runner may be sent again after a second', async () => {
  const { headers } = await runnerless('ann', 'PUT /tools/modules/notes', { body: NOTES })
  expect(headers.get('Retry-After')).toBe('1')
})

function uploadWordy(count: number): Promise<Answered> {
  const functions = Array.from({ length: count }, (_, index) => `t${index}`)
  return wordy('ann', 'PUT /tools/modules/huge', { body: moduleOf('huge', ...functions) })
}

test('definitions that together are above 2 MB are no module', async () => {
  const refused = await uploadWordy(140)
  expect(refused).toMatchObject({ status: 422, code: 'MODULE_INVALID' })
  const { message, details } = (refused.body as unknown as ErrorBody).error
  expect(message).toMatch(/^huge\.py: .* may take 2,097,152\. Split the module\.$/)
  expect(details).toMatchObject([{ kind: 'definitions_too_large', message }])
  expect(await uploadWordy(120)).toMatchObject({ status: 201, body: { tools: { added: { length: 120 } } } })
})

test('modules are listed by name, a page at a time, without their sources', async () => {
  const own = ['paged_a', 'paged_b', 'paged_c']
  for (const name of own.toReversed())
    await ask('admin', `PUT /tools/modules/${name}?layer=global`, { body: moduleOf(name, 'it') })
  const found: string[] = []
  let next: string | undefined = '/tools/modules?layer=global&limit=1'
  while (next !== undefined) {
    const { status, body, headers }: Answered = await ask('admin', `GET ${next}`)
    expect([status, body['layer']]).toEqual([200, 'global'])
    expect(JSON.stringify(body)).not.toContain('TOOL_SPECS')
    const items = body['items'] as { name: string }[]
    expect(items).toHaveLength(1)
    found.push(...items.map(({ name }) => name))
    next = /^<\/workflows(.*)>; rel="next"$/.exec(headers.get('Link') ?? '')?.[1]
  }
  expect(found.filter((name) => name.startsWith('paged'))).toEqual(own)
})

test('the tools of a module of the global layer are listed to everybody', async () => {
  await ask('admin', 'PUT /tools/modules/ours?layer=global', { body: moduleOf('ours', 'it') })
  for (const who of ['ann', 'account'] as const) expect(await listed('ours', who)).toEqual(['ours:it'])
})

test.each<RefusedRow>([
  ['the file layer', 'admin', 'GET /tools/modules?layer=file', {}, '400 PARAMETER_INVALID'],
  ['a cursor of nobody', 'ann', 'GET /tools/modules?cursor=-', {}, '400 PARAMETER_INVALID'],
  ['an unknown parameter', 'ann', 'GET /tools/modules/a?a=1', {}, '400 PARAMETER_UNKNOWN'],
  ['names for a page of modules', 'ann', 'GET /tools/modules?names=a', {}, '400 PARAMETER_UNKNOWN'],
  [
    'a form with a file in it',
    'ann',
    'PUT /tools/modules/a',
    { body: '--x--', headers: { 'Content-Type': 'multipart/form-data; boundary=x' } },
    '400 HEADER_INVALID',
  ],
  [
    'a picture',
    'ann',
    'PUT /tools/modules/a',
    { body: 'x', headers: { 'Content-Type': 'image/png' } },
    '400 HEADER_INVALID',
  ],
  ['JSON without a source', 'ann', 'PUT /tools/modules/a', { body: {}, headers: json }, '400 BODY_INVALID'],
  [
    'a source in JSON that is too large',
    'ann',
    'PUT /tools/modules/a',
    { body: { source: 'x'.repeat(256 * 1024 + 1) }, headers: json },
    '413 BODY_TOO_LARGE',
  ],
  ['a module that is not there', 'ann', 'GET /tools/modules/none', {}, '404 MODULE_NOT_FOUND'],
  ['versions of nothing', 'ann', 'GET /tools/modules/none/versions', {}, '404 MODULE_NOT_FOUND'],
  ['the removal of nothing', 'ann', 'DELETE /tools/modules/none', {}, '404 MODULE_NOT_FOUND'],
  ['a rollback to no version', 'ann', 'POST /tools/modules/a/rollback', { body: {} }, '400 BODY_INVALID'],
  [
    'a precondition that does not hold',
    'ann',
    'PUT /tools/modules/none',
    { body: NOTES, headers: { 'If-Match': '*' } },
    '412 PRECONDITION_FAILED',
  ],
])('%s is refused', async (_what, who, request, asked, expected) => {
  const { status, code } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
})

test('JSON that is sent as Python is told which header it lacks', async () => {
  for (const headers of [{}, { 'Content-Type': 'application/x-www-form-urlencoded' }])
    expect(await ask('ann', 'PUT /tools/modules/bad', { body: ' {"files": {}}', headers })).toMatchObject({
      status: 400,
      code: 'HEADER_INVALID',
      body: { error: { message: 'A module in JSON needs the Content-Type application/json.' } },
    })
  const python = `{"a": 1}\n${moduleOf('odd', 'a')}`
  expect(await ask('ann', 'PUT /tools/modules/odd', { body: python })).toMatchObject({ status: 201 })
})

const files = { '__init__.py': moduleOf('several', 'read'), 'data/a.json': '{}' }

test('several files are one module, and come back by their paths', async () => {
  const created = await ask('ann', 'PUT /tools/modules/several', { body: { files }, headers: json })
  expect(created).toMatchObject({ status: 201, body: { tools: { added: ['several:read'] } } })
  const { body } = await ask('ann', 'GET /tools/modules/several')
  expect(body).toMatchObject({ files, sha256: sha256Of(files) })
  expect(body).not.toHaveProperty('source')
})

test.each<[what: string, body: string, message: RegExp]>([
  ['what is no JSON', '{"files"', /^The body is not valid JSON \(it ends too early\)\.$/],
  ['a list', '[]', /must be a JSON object/],
  [
    'a field that is misspelt',
    '{"file": {"__init__.py": ""}}',
    /Did you mean 'files'\? It must be \{"source"/,
  ],
  ['a field that nothing is like', '{"files": {}, "name": "x"}', /a field that it cannot have\. It must be/],
  ['source and files', '{"source": "", "files": {}}', /^The body must be \{"source": "…"\} or \{"files"/],
  ['files that are a list', '{"files": [["__init__.py", ""]]}', /^The field files must be an object/],
  [
    'a file that is no text',
    '{"files": {"a.py": 1}}',
    /^The field files\["a\.py"\] must be the text of a file\.$/,
  ],
  ['a file that is null', '{"files": {"a.py": null}}', /^The field files\["a\.py"\] must be the text/],
  ['a file in a file', '{"files": {"sub": {"a.py": ""}}}', /^The field files\["sub"\] must be the text/],
  ['half a character', '{"files": {"a.py": "\\ud83d"}}', /^The field files\["a\.py"\] has a lone surrogate/],
  ['half a character in a path', '{"files": {"\\ud83d": ""}}', /has a path with a lone surrogate/],
  ['half a character in a source', '{"source": "\\ud83d"}', /^The field source has a lone surrogate/],
  ['a path twice', '{"files": {"a.py": "1", "a.py": "2"}}', /the same key twice/],
  ['a path that is __proto__', '{"files": {"__proto__": ""}}', /__proto__/],
])('a module with %s is refused, and the message says why', async (_what, body, message) => {
  const answer = await ask('ann', 'PUT /tools/modules/bad', { body, headers: json })
  expect(answer).toMatchObject({
    status: 400,
    code: 'BODY_INVALID',
    body: { error: { message: expect.stringMatching(message) } },
  })
})

const upload = (name: string, sent: object) =>
  ask('ann', `PUT /tools/modules/${name}`, { body: { files: sent }, headers: json })

test('too many files are refused before they are sorted and hashed', async () => {
  const more = Object.fromEntries(Array.from({ length: 63 }, (_, at) => [`f${at}.py`, '']))
  const most = { ...more, '__init__.py': moduleOf('many', 'read') }
  expect(await upload('many', { ...most, 'a.json': '{}' })).toMatchObject({
    status: 422,
    code: 'MODULE_INVALID',
    body: { error: { message: expect.stringMatching(/^many\/: the module has 65 files; at most 64/) } },
  })
  expect(await upload('many', most)).toMatchObject({ status: 201 })
})

test('files of more than 512 KB together are refused with their size, and nothing is written', async () => {
  const most = { '__init__.py': moduleOf('full', 'read') }
  const text = 'x'.repeat(512 * 1024 - most['__init__.py'].length)
  const refused = await upload('full', { ...most, 'a.txt': `${text}x` })
  expect(refused).toMatchObject({
    status: 422,
    body: {
      error: {
        message: expect.stringMatching(/^full\/: the files have 524,289 bytes together; 524,288 are allowed/),
        details: [{ reason: 'MODULE_INVALID', kind: 'files_too_large' }],
      },
    },
  })
  expect((await ask('ann', 'GET /tools/modules/full/versions')).status).toBe(404)
  expect(await upload('full', { ...most, 'a.txt': text })).toMatchObject({ status: 201 })
})

test('a definition that a module manages is changed by its module alone', async () => {
  const { revision } = (await put('managed', moduleOf('managed', 'a'))).body
  const before = await layerState()
  const answers = [
    await ask('ann', 'PUT /tools/defs/managed:a', { body: { description: 'Mine.' } }),
    await ask('ann', 'DELETE /tools/defs/managed:a'),
    await ask('ann', 'POST /tools/defs', { body: [tool('free'), tool('managed:a')] }),
    await ask('ann', 'POST /tools/defs/managed:a/rollback', { body: { revision } }),
  ]
  for (const answer of answers)
    expect(answer).toMatchObject({
      status: 409,
      body: {
        error: {
          message: expect.stringContaining('belongs to the module managed'),
          details: [{ reason: 'MANAGED_BY_MODULE', module: 'managed' }],
        },
      },
    })
  const runner = { kind: 'python', module: 'SECRET', sha256: '0'.repeat(64) }
  const forged = await ask('ann', 'PUT /tools/defs/forged:a', { body: { ...tool('forged:a'), runner } })
  expect(forged).toMatchObject({ status: 409, code: 'MANAGED_BY_MODULE' })
  expect(JSON.stringify(forged.body)).not.toContain('SECRET')
  expect(await layerState()).toEqual(before)
})
