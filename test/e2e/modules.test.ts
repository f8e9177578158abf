import { expect } from '@jest/globals'
import { createHash } from 'node:crypto'
import { errorAnswer } from '../support/error-answer.ts'
import {
  fixtureModule,
  layerState,
  moduleOf,
  serverWithRunner,
  sharedServerWithRunner,
  upload,
  uploaded,
} from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { list, listedNames, post, put, remove, tool } from '../support/tool.ts'

const started = sharedServerWithRunner()
const MODULES = '/workflows/tools/modules'

function sha256(source: string): string {
  return createHash('sha256').update(source).digest('hex')
}

async function get(server: Server, path: string): Promise<Record<string, unknown>> {
  return (await (await server.fetch(path)).json()) as Record<string, unknown>
}

function roll(server: Server, name: string, body: unknown, headers = {}): Promise<Response> {
  return server.fetch(`${MODULES}/${name}/rollback`, { method: 'POST', body: JSON.stringify(body), headers })
}

function removeModule(server: Server, name: string, headers = {}): Promise<Response> {
  return server.fetch(`${MODULES}/${name}`, { method: 'DELETE', headers })
}

withPython(
  'a file that is uploaded is listed at once, and the answer tells what became of each spec',
  async () => {
    const server = await started()
    const source = fixtureModule('weather')
    const answer = await upload(server, 'weather', source)
    expect([answer.status, answer.headers.get('etag')]).toEqual([201, `"${sha256(source)}"`])
    expect(await answer.json()).toMatchObject({
      name: 'weather',
      layer: 'user',
      outcome: 'created',
      sha256: sha256(source),
      tools: {
        added: ['weather:get_report', 'weather:get_temperatures'],
        changed: [],
        removed: [],
        unchanged: [],
      },
      shadows: [],
      report: {
        specs: [
          {
            name: 'weather:get_report',
            line: 16,
            accepted: true,
            derived: [],
            faults: [],
            examples: [
              { index: 0, outcome: 'success', matched: true },
              { index: 1, outcome: 'success', matched: true },
            ],
          },
          { name: 'weather:get_temperatures', accepted: true, derived: ['parameters'] },
        ],
      },
    })
    const [listed] = await list(server, 'names=weather:get_report')
    expect(listed?.function.parameters).toEqual({
      type: 'object',
      properties: { location: { type: 'string', description: 'City or region.' } },
      required: ['location'],
    })
    expect(await get(server, '/workflows/tools/defs/weather:get_report')).toMatchObject({
      definition: {
        runner: { kind: 'python', module: 'weather', sha256: sha256(source) },
        category: 'weather',
        annotations: { readOnlyHint: true },
        limits: { timeoutSeconds: 5 },
      },
    })
  },
)

withPython('what was uploaded is read back, with its report, and 304 while it is the same', async () => {
  const server = await started()
  const source = `${moduleOf('readback', 'one')}# "ü" \u2028\r\n`
  const { report, revision } = await uploaded(server, 'readback', source)
  const answer = await server.fetch(`${MODULES}/readback`)
  expect(answer.headers.get('etag')).toBe(`"${sha256(source)}"`)
  const body = (await answer.json()) as object
  expect(body).toEqual({
    name: 'readback',
    layer: 'user',
    sha256: sha256(source),
    tools: ['readback:one'],
    revision,
    updatedAt: expect.any(String),
    updatedBy: 'local',
    report,
    source,
  })
  const again = await server.fetch(`${MODULES}/readback`, {
    headers: { 'If-None-Match': `"${sha256(source)}"` },
  })
  expect([again.status, await again.text()]).toEqual([304, ''])
  const { items } = await get(server, MODULES)
  const { report: _report, source: _source, layer: _layer, ...summary } = body as Record<string, unknown>
  expect(items).toContainEqual(summary)
})

withPython('a byte order mark is part of the file and no part of a name', async () => {
  const server = await started()
  const source = `\ufeff${moduleOf('marked', 'one')}`
  expect((await uploaded(server, 'marked', source)).sha256).toBe(sha256(source))
  expect(await get(server, `${MODULES}/marked`)).toMatchObject({ source })
})

for (const [title, type, wrap] of [
  ['no Content-Type', undefined, (source: string) => source],
  ['text/x-python', 'text/x-python; charset=utf-8', (source: string) => source],
  ['application/octet-stream', 'application/octet-stream', (source: string) => source],
  ['what curl --data-binary says', 'application/x-www-form-urlencoded', (source: string) => source],
  ['JSON', 'application/json', (source: string) => JSON.stringify({ source })],
] as const)
  withPython(`a module is taken with ${title}`, async () => {
    const server = await started()
    const headers: Record<string, string> = type === undefined ? {} : { 'Content-Type': type }
    const source = moduleOf('typed', 'one')
    expect((await uploaded(server, 'typed', wrap(source), { headers })).sha256).toBe(sha256(source))
  })

for (const [title, type, body, reason] of [
  ['a form with a file in it', 'multipart/form-data; boundary=x', '--x--', 'HEADER_INVALID'],
  ['JSON without a source', 'application/json', '{"code":"x"}', 'BODY_INVALID'],
  ['JSON with more than a source', 'application/json', '{"source":"x","name":"y"}', 'BODY_INVALID'],
  ['JSON that is none', 'application/json', 'TOOL_SPECS = []', 'BODY_INVALID'],
] as const)
  withPython(`${title} is a 400 that says what to send`, async () => {
    const answer = await upload(await started(), 'typed', body, { headers: { 'Content-Type': type } })
    expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 400, reason })
  })

withPython('a source of 256 KB is taken, as it is and as JSON; one byte more is not', async () => {
  const server = await started()
  const start = moduleOf('large', 'one')
  const source = `${start}#${'é'.repeat((256 * 1024 - Buffer.byteLength(start) - 1) / 2)}`
  const filled = source + 'x'.repeat(256 * 1024 - Buffer.byteLength(source))
  const headers = { 'Content-Type': 'application/json' }
  expect((await uploaded(server, 'large', filled)).outcome).toBe('created')
  expect((await uploaded(server, 'large', JSON.stringify({ source: filled }), { headers })).outcome).toBe(
    'unchanged',
  )
  for (const answer of [
    await upload(server, 'large', `${filled}x`),
    await upload(server, 'large', JSON.stringify({ source: `${filled}x` }), { headers }),
  ])
    expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 413, reason: 'BODY_TOO_LARGE' })
})

withPython(
  'a spec that the service does not admit is refused with its pointer, and its siblings load',
  async () => {
    const server = await started()
    const source = `
def run(**rest):
    return 1

WIDE = {"type": "object", "properties": {f"p{i}": {} for i in range(2_100)}}
LOOKAHEAD = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}}
TOOL_SPECS = [
    {"name": "mixed:wide", "description": "Wide.", "handler": run, "parameters": WIDE},
    {"name": "mixed:good", "description": "Good.", "handler": run, "parameters": LOOKAHEAD},
    {"name": "mixed:bad", "description": "Bad.", "handler": 1},
    {"name": "mixed:marked", "description": "M.", "handler": run, "parameters": {"properties": {"a": {"x-sensitive": "true"}}}},
]
`
    const { tools, report } = await uploaded(server, 'mixed', source)
    expect(report.specs).toMatchObject([
      {
        name: 'mixed:wide',
        accepted: false,
        faults: [
          {
            code: 'SCHEMA_REJECTED',
            kind: 'parameters_invalid',
            line: 8,
            pointer: '/parameters',
            message: expect.stringMatching(/^mixed\.py, line 8: 'mixed:wide': \/parameters .*2,?000/),
          },
        ],
      },
      {
        name: 'mixed:good',
        accepted: true,
        faults: [],
        unenforced: [{ pointer: '/parameters/properties/a/pattern', reason: expect.any(String) }],
      },
      { name: 'mixed:bad', accepted: false, faults: [{ kind: 'handler_not_callable' }] },
      {
        name: 'mixed:marked',
        accepted: false,
        faults: [{ code: 'SCHEMA_REJECTED', pointer: '/parameters/properties/a/x-sensitive' }],
      },
    ])
    expect(tools.added).toEqual(['mixed:good'])
    expect(await listedNames(server, 'category=mixed')).toEqual(['mixed:good'])
  },
)

withPython('a module of which the service admits no spec is refused with all of their faults', async () => {
  const server = await started()
  const before = await layerState(server)
  const source = `
def run(**rest): ...
WIDE = {"type": "object", "properties": {f"p{i}": {} for i in range(2_100)}}
TOOL_SPECS = [
    {"name": "none:wide", "description": "Wide.", "handler": run, "parameters": WIDE},
    {"name": "none:bad", "description": "Bad.", "handler": 1},
]
`
  expect(await errorAnswer(await upload(server, 'none', source))).toMatchObject({
    httpStatus: 422,
    message: expect.stringMatching(/^none\.py, line 5: .* \(and 1 more, see details\)$/),
    details: [
      { reason: 'SCHEMA_REJECTED', name: 'none:wide', pointer: '/parameters' },
      { reason: 'MODULE_INVALID', name: 'none:bad', kind: 'handler_not_callable' },
    ],
  })
  expect(await layerState(server)).toEqual(before)
})

withPython('definitions that together are above 2 MB are no module', async () => {
  const server = await started()
  const source = `
def run(**rest): ...
BIG = {"type": "object", "properties": {"a": {"description": "x" * 32_000}}}
TOOL_SPECS = [{"name": f"huge:t{i}", "description": "d" * 16_000, "handler": run, "parameters": BIG} for i in range(50)]
`
  const answer = await errorAnswer(await upload(server, 'huge', source))
  expect(answer).toMatchObject({ httpStatus: 422, reason: 'MODULE_INVALID' })
  expect(answer.message).toMatch(/^huge\.py: .* may take 2,097,152\. Split the module\.$/)
  expect(answer.details).toMatchObject([{ kind: 'definitions_too_large', message: answer.message }])
  expect((await uploaded(server, 'huge', source.replace('range(50)', 'range(40)'))).tools.added).toHaveLength(
    40,
  )
})

withPython('examples that fail are notes of an accepted spec', async () => {
  const source = `${moduleOf('noted', 'one')}TOOL_SPECS[0]["examples"] = [{"arguments": {"text": "a"}, "result": "b"}, {"arguments": {}}]\n`
  const { report } = await uploaded(await started(), 'noted', source)
  expect(report.specs).toMatchObject([
    {
      accepted: true,
      notes: [{ kind: 'example_failed' }, { kind: 'example_failed' }],
      examples: [
        { index: 0, outcome: 'success', matched: false },
        { index: 1, outcome: 'failure', code: 'ARGUMENTS_INVALID' },
      ],
    },
  ])
})

withPython(
  'a new version adds, changes and takes away its tools in one revision; the same again changes nothing',
  async () => {
    const server = await started()
    await uploaded(server, 'moving', moduleOf('moving', 'a', 'b'))
    const second = await uploaded(server, 'moving', moduleOf('moving', 'b', 'c'))
    expect(second).toMatchObject({
      outcome: 'updated',
      tools: { added: ['moving:c'], changed: ['moving:b'], removed: ['moving:a'], unchanged: [] },
    })
    expect(await listedNames(server, 'category=moving')).toEqual(['moving:b', 'moving:c'])
    const third = await uploaded(server, 'moving', moduleOf('moving', 'b', 'c'))
    expect(third).toMatchObject({ outcome: 'unchanged', revision: second.revision })
    expect(await get(server, '/workflows/tools/defs')).toMatchObject({ revision: second.revision })
  },
)

withPython('a deleted module takes all of its tools and is gone, its versions stay', async () => {
  const server = await started()
  const { sha256: first } = await uploaded(server, 'leaving', moduleOf('leaving', 'a', 'b'))
  const answer = await removeModule(server, 'leaving')
  expect(await answer.json()).toMatchObject({
    outcome: 'deleted',
    tools: { removed: ['leaving:a', 'leaving:b'] },
  })
  expect(await listedNames(server, 'category=leaving')).toEqual([])
  for (const gone of [await removeModule(server, 'leaving'), await server.fetch(`${MODULES}/leaving`)])
    expect(await errorAnswer(gone)).toMatchObject({ httpStatus: 404, reason: 'MODULE_NOT_FOUND' })
  expect(await get(server, `${MODULES}/leaving/versions`)).toMatchObject({
    items: [
      { deleted: true, tools: [] },
      { deleted: false, sha256: first, tools: ['leaving:a', 'leaving:b'] },
    ],
  })
})

withPython(
  'a rollback checks an older source again and makes it the present version, also after a deletion',
  async () => {
    const server = await started()
    const first = await uploaded(server, 'rolled', moduleOf('rolled', 'a'))
    await uploaded(server, 'rolled', moduleOf('rolled', 'b'))
    const back = await roll(server, 'rolled', { sha256: first.sha256 })
    expect([back.status, back.headers.get('etag')]).toEqual([200, `"${first.sha256}"`])
    expect(await back.json()).toMatchObject({
      outcome: 'updated',
      tools: { added: ['rolled:a'], removed: ['rolled:b'] },
      report: { specs: [{ name: 'rolled:a', accepted: true }] },
    })
    await removeModule(server, 'rolled')
    expect((await roll(server, 'rolled', { revision: first.revision })).status).toBe(200)
    expect(await listedNames(server, 'category=rolled')).toEqual(['rolled:a'])
    const { items } = (await get(server, `${MODULES}/rolled/versions`)) as { items: { revision: string }[] }
    expect(items).toHaveLength(5)
    const deletion = items[1]?.revision
    for (const [name, body, reason] of [
      ['rolled', { sha256: '0'.repeat(64) }, 'VERSION_NOT_FOUND'],
      ['rolled', { revision: deletion }, 'VERSION_NOT_FOUND'],
      ['never', { sha256: first.sha256 }, 'MODULE_NOT_FOUND'],
      ['rolled', {}, 'BODY_INVALID'],
      ['rolled', { sha256: first.sha256, revision: deletion }, 'BODY_INVALID'],
    ] as const)
      expect((await errorAnswer(await roll(server, name, body))).reason).toBe(reason)
  },
)

withPython('preconditions are held against the sha256 of the source', async () => {
  const server = await started()
  const [one, two] = [moduleOf('guarded', 'a'), moduleOf('guarded', 'b')]
  const never = { 'If-Match': `"${'0'.repeat(64)}"` }
  const present = { 'If-Match': `W/"${sha256(one)}"` }
  const create = { 'If-None-Match': '*' }
  expect((await upload(server, 'guarded', one, { headers: never })).status).toBe(412)
  expect((await upload(server, 'guarded', one, { headers: create })).status).toBe(201)
  const refused = [
    await upload(server, 'guarded', two, { headers: create }),
    await upload(server, 'guarded', two, { headers: never }),
    await removeModule(server, 'guarded', never),
    await roll(server, 'guarded', { sha256: sha256(one) }, never),
  ]
  for (const answer of refused)
    expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 412, reason: 'PRECONDITION_FAILED' })
  expect((await upload(server, 'guarded', two, { headers: present })).status).toBe(200)
  expect((await removeModule(server, 'guarded', present)).status).toBe(412)
  expect((await upload(server, 'guarded', one, { headers: { 'If-Match': 'sha' } })).status).toBe(400)
})

withPython(
  'of two uploads at once on the same If-Match one wins with all of its tools, and the other is a 412',
  async () => {
    const server = await started()
    let { sha256: tag } = await uploaded(server, 'raced', moduleOf('raced', 'start'))
    for (let round = 0; round < 5; round += 1) {
      const headers = { 'If-Match': `"${tag}"` }
      const answers = await Promise.all(
        ['left', 'right'].map((side) =>
          upload(server, 'raced', moduleOf('raced', `${side}${round}`, side), { headers }),
        ),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412])
      const winner = answers[0]?.ok ? 'left' : 'right'
      expect(await listedNames(server, 'category=raced')).toEqual([
        `raced:${winner}`,
        `raced:${winner}${round}`,
      ])
      tag =
        answers
          .find(({ ok }) => ok)
          ?.headers.get('etag')
          ?.replaceAll('"', '') ?? ''
    }
  },
)

withPython('a name that the layer has already is a 409 with its owner, and nothing is written', async () => {
  const server = await started()
  await put(server, 'taken:a', tool('taken:a'))
  const before = await layerState(server)
  const answer = await errorAnswer(await upload(server, 'taken', moduleOf('taken', 'a', 'b')))
  expect(answer).toMatchObject({ httpStatus: 409, details: [{ reason: 'NAME_TAKEN', name: 'taken:a' }] })
  expect(answer.message).toMatch(/^The layer has taken:a already, as a definition of its own/)
  expect(await layerState(server)).toEqual(before)
  await remove(server, 'taken:a')
  expect((await uploaded(server, 'taken', moduleOf('taken', 'a', 'b'))).outcome).toBe('created')
})

withPython('a definition that a module manages is changed by its module alone', async () => {
  const server = await started()
  await uploaded(server, 'managed', moduleOf('managed', 'a'))
  const before = await layerState(server)
  const answers = [
    await put(server, 'managed:a', tool('managed:a')),
    await remove(server, 'managed:a'),
    await post(server, [tool('free'), tool('managed:a')]),
    await server.fetch('/workflows/tools/defs/managed:a/rollback', {
      method: 'POST',
      body: JSON.stringify({
        revision: (await uploaded(server, 'managed', moduleOf('managed', 'a'))).revision,
      }),
    }),
  ]
  for (const answer of answers)
    expect(await errorAnswer(answer)).toMatchObject({
      httpStatus: 409,
      message: expect.stringContaining('belongs to the module managed'),
      details: [expect.objectContaining({ reason: 'MANAGED_BY_MODULE', module: 'managed' })],
    })
  const forged = { ...tool('forged:a'), runner: { kind: 'python', module: 'SECRET', sha256: '0'.repeat(64) } }
  const refused = await errorAnswer(await put(server, 'forged:a', forged))
  expect(refused).toMatchObject({ httpStatus: 409, reason: 'MANAGED_BY_MODULE' })
  expect(JSON.stringify(refused)).not.toContain('SECRET')
  expect(await layerState(server)).toEqual(before)
})

withPython('another layer’s tool of the same name is shadowed and shown; a sealed one is a 409', async () => {
  const server = await started()
  const global = await uploaded(server, 'layered', moduleOf('layered', 'a', 'b'), { layer: 'global' })
  const [a] = global.report.specs
  const own = await uploaded(server, 'layered', moduleOf('layered', 'a', 'c'))
  expect(own.shadows).toEqual([{ name: 'layered:a', layer: 'global', digest: a?.['digest'] }])
  expect(await listedNames(server, 'category=layered')).toEqual(['layered:a', 'layered:c', 'layered:b'])
  await put(server, 'closed:a', { ...tool('closed:a'), sealed: true }, { layer: 'global' })
  const before = await layerState(server)
  expect(await errorAnswer(await upload(server, 'closed', moduleOf('closed', 'a', 'b')))).toMatchObject({
    httpStatus: 409,
    reason: 'NAME_SEALED',
    details: [{ reason: 'NAME_SEALED', name: 'closed:a', layer: 'global' }],
  })
  expect(await layerState(server)).toEqual(before)
})

withPython('a list of modules comes a page at a time', async () => {
  const server = await started()
  for (const name of ['paged_b', 'paged_a', 'paged_c'])
    await uploaded(server, name, moduleOf(name, 'x'), { layer: 'global' })
  const names: string[] = []
  let path: string | undefined = `${MODULES}?layer=global&limit=1`
  while (path !== undefined) {
    const answer: Response = await server.fetch(path)
    const { items } = (await answer.json()) as { items: { name: string }[] }
    expect(items).toHaveLength(1)
    names.push(...items.map(({ name }) => name))
    path = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
  }
  expect(names.filter((name) => name.startsWith('paged'))).toEqual(['paged_a', 'paged_b', 'paged_c'])
  for (const query of ['cursor=a/b', 'limit=0', 'layer=file', 'names=a'])
    expect((await server.fetch(`${MODULES}?${query}`)).status).toBe(400)
})

withPython('a name that no module can have is found nowhere', async () => {
  const server = await started()
  for (const name of ['a%2Fb', '__init__', '..%2F..%2Ftools', 'a%00', 'x'.repeat(65)])
    for (const answer of [
      await server.fetch(`${MODULES}/${name}`),
      await removeModule(server, name),
      await server.fetch(`${MODULES}/${name}/versions`),
    ])
      expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 404, reason: 'MODULE_NOT_FOUND' })
})

withPython('modules, their versions and their sources are there after kill -9', async () => {
  await using server = await serverWithRunner()
  const { sha256: first } = await uploaded(server, 'kept', moduleOf('kept', 'a'))
  await uploaded(server, 'kept', moduleOf('kept', 'b'))
  const before = [await layerState(server), await get(server, `${MODULES}/kept/versions`)]
  await server.kill9()
  await server.restart()
  expect([await layerState(server), await get(server, `${MODULES}/kept/versions`)]).toEqual(before)
  expect(await get(server, `${MODULES}/kept`)).toMatchObject({ source: moduleOf('kept', 'b') })
  expect(first).toBe(sha256(moduleOf('kept', 'a')))
})
