import { expect, test } from '@jest/globals'
import { createHash } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import {
  contentSha256,
  type ModuleContent,
} from '../../../../functions/src/catalog/definitions/module-content.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'

const SOURCE = Buffer.from('TOOL_SPECS = []  # ü\n')
const SECRET = 'a secret of sixteen'

const REPORT = {
  module: 'm',
  ok: true,
  faults: [],
  notes: [{ kind: 'import_unavailable', message: 'A note.' }],
  imports: ['json'],
  missingImports: [],
  tools: [
    {
      name: 'm:run',
      line: 3,
      accepted: true,
      description: 'Runs.',
      parameters: { type: 'object' },
      derived: ['parameters'],
      annotations: null,
      timeoutSeconds: 5,
      secrets: [],
      network: [],
      faults: [],
      notes: [],
      examples: [{ index: 0, outcome: 'success' }],
    },
    {
      name: null,
      line: null,
      accepted: false,
      faults: [
        { code: 'MODULE_INVALID', kind: 'name_invalid', message: 'A fault.', line: 7, traceback: 'T' },
      ],
      notes: [],
      examples: [],
    },
  ],
  sha256: createHash('sha256').update(SOURCE).digest('hex'),
  log: { text: 'printed', truncated: false },
  usage: {},
  isolation: 'L2',
}

async function checked(answer: RequestListener, source: Uint8Array = SOURCE, name = 'm', tenant?: string) {
  return checkedContent(answer, { source }, name, tenant)
}

async function checkedContent(
  answer: RequestListener,
  content: ModuleContent<Uint8Array>,
  name = 'm',
  tenant?: string,
) {
  await using there = await ScriptedServer.start()
  const bodies: unknown[] = []
  there.answers = [
    async (req, res) => {
      bodies.push(JSON.parse(await bodyOf(req)))
      answer(req, res)
    },
  ]
  const address = { url: there.origin, secret: SECRET }
  const runner = new HttpRunner({ endpoint: () => address, patience: { checkMs: 2_000 } })
  const outcome = await runner.check({ name, ...content, tenant }).catch((error: unknown) => error)
  await runner.close()
  return { outcome, bodies, asked: there.asked }
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of req as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString()
}

test('what the runner reports of each spec is what the service knows of it', async () => {
  const { outcome, bodies, asked } = await checked(json(REPORT))
  expect(asked.map(({ method, url, headers }) => [method, url, headers.authorization])).toEqual([
    ['POST', '/check', `Bearer ${SECRET}`],
  ])
  expect(bodies).toEqual([{ name: 'm', source: SOURCE.toString() }])
  expect(outcome).toEqual(REPORT)
})

test('bytes that are no UTF-8 go to the runner as they are, a byte order mark too', async () => {
  const latin = Buffer.from('x = "ü"', 'latin1')
  expect((await checked(json({}), latin)).bodies).toEqual([
    { name: 'm', sourceBase64: latin.toString('base64') },
  ])
  const marked = Buffer.from('\ufeffx')
  expect((await checked(json({}), marked)).bodies).toEqual([{ name: 'm', source: '\ufeffx' }])
})

test('several files go to the runner by their paths, all in base64 if one is no UTF-8, and are checked as one', async () => {
  const content = (second: Buffer) => ({
    files: [
      { path: '__init__.py', content: SOURCE },
      { path: 'a/b.py', content: second },
    ],
  })
  const good = content(Buffer.from('é'))
  const answered = await checkedContent(json({ ...REPORT, sha256: contentSha256(good) }), good)
  expect(answered).toMatchObject({
    bodies: [{ name: 'm', files: { '__init__.py': SOURCE.toString(), 'a/b.py': 'é' } }],
    outcome: { module: 'm' },
  })
  const latin = Buffer.from('é', 'latin1')
  const { bodies, outcome } = await checkedContent(json(REPORT), content(latin))
  expect(bodies).toEqual([
    {
      name: 'm',
      filesBase64: { '__init__.py': SOURCE.toString('base64'), 'a/b.py': latin.toString('base64') },
    },
  ])
  // This is the report on one file.
  expect(outcome).toMatchObject({ code: 'RUNNER_UNAVAILABLE' })
})

test('a name that is too long for any runner is cut to what one looks at', async () => {
  const { bodies } = await checked(json({}), SOURCE, 'n'.repeat(1_000))
  expect(bodies).toMatchObject([{ name: 'n'.repeat(128) }])
})

const refusal = (reason: string, status: number, headers = {}): RequestListener =>
  json({ error: { code: status, status: 'X', message: 'SECRET', details: [{ reason }] } }, status, headers)

test.each([
  ['ISOLATION_UNAVAILABLE', refusal('ISOLATION_UNAVAILABLE', 503)],
  ['RUNNER_UNAVAILABLE', refusal('RUNNER_UNAVAILABLE', 503)],
  ['RUNNER_UNAVAILABLE', refusal('TOKEN_INVALID', 401)],
  ['RUNNER_UNAVAILABLE', refusal('BODY_INVALID', 400)],
  ['RUNNER_UNAVAILABLE', refusal('NO_SUCH_CODE', 500)],
] as const)('%s is told as such, without the words of the runner', async (code, answer) => {
  const { outcome } = await checked(answer)
  expect(outcome).toMatchObject({ code })
  expect((outcome as Error).message).not.toContain('SECRET')
})

test.each([
  [
    refusal('RUNNER_BUSY', 429, { 'Retry-After': '7' }),
    { message: 'Nothing was written: SECRET.', retryAfterSeconds: 7 },
  ],
  [
    json('Rate exceeded.', 429),
    {
      message: 'Nothing was written: The runner has as many checks as it takes.',
      retryAfterSeconds: undefined,
    },
  ],
])('a check for which there is no place is told why, in the words of the runner', async (answer, told) => {
  expect((await checked(answer)).outcome).toMatchObject({ code: 'RUNNER_BUSY', ...told })
})

test('the runner is told whose module it is, and of what the service checks by itself nobody', async () => {
  expect((await checked(json({}), SOURCE, 'm', 'ann')).bodies).toMatchObject([{ name: 'm', tenant: 'ann' }])
  expect((await checked(json({}))).bodies).toEqual([{ name: 'm', source: SOURCE.toString() }])
})

test('what is not called any more is told once, and whatever comes of it nobody hears', async () => {
  await using there = await ScriptedServer.start()
  const bodies: unknown[] = []
  const taken = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    bodies.push(JSON.parse(await bodyOf(req)))
    res.writeHead(204).end()
  }
  there.answers = [
    (req, res) => void taken(req, res),
    json({}, 500),
    (req) => req.socket.destroy(),
    () => undefined,
  ]
  const where = { url: there.origin, secret: SECRET }
  const runner = new HttpRunner({ endpoint: () => where, patience: { forgetMs: 2_000 } })
  const gone = { module: 'm', sha256: '0'.repeat(64) }
  await runner.forget({ ...gone, tenant: 'ann' })
  for (let turn = 0; turn < 3; turn += 1) await runner.forget(gone)
  await runner.close()
  expect(bodies).toEqual([{ ...gone, tenant: 'ann' }])
  expect(there.asked.map(({ url }) => url)).toEqual(Array(4).fill('/forget'))
  const absent = new HttpRunner({ endpoint: () => ({ status: 'absent', reason: 'None.' }) })
  await absent.forget(gone)
})

const [spec, refused] = REPORT.tools
test.each([
  ['no JSON', (_req, res) => res.end('Welcome!')],
  ['null', json(null)],
  ['nothing', json({})],
  ['a report on another source', json({ ...REPORT, sha256: '0'.repeat(64) })],
  ['no list of tools', json({ ...REPORT, tools: {} })],
  ['a tool that is none', json({ ...REPORT, tools: [7] })],
  ['a code that is none', json({ ...REPORT, faults: [{ code: 'toString', kind: 'k', message: 'm' }] })],
  ['an accepted spec without parameters', json({ ...REPORT, tools: [{ ...spec, parameters: null }] })],
  [
    'an accepted spec with a list for annotations',
    json({ ...REPORT, tools: [{ ...spec, annotations: [] }] }),
  ],
  ['a spec with a number for a name', json({ ...REPORT, tools: [{ ...refused, name: 7 }] })],
  ['a spec with a text for a line', json({ ...REPORT, tools: [{ ...refused, line: '7' }] })],
  ['another status', json(REPORT, 201)],
  ['a redirect', (_req, res) => res.writeHead(307, { Location: '/check' }).end()],
  ['no answer', () => undefined],
  ['a lost connection', (req) => req.socket.destroy()],
  [
    'half an answer',
    (req, res) => {
      res.writeHead(200, { 'Content-Length': '1000' }).write('{"sha256":')
      setImmediate(() => req.socket.destroy())
    },
  ],
] as const satisfies readonly (readonly [string, RequestListener])[])(
  'a runner that answers with %s is unavailable, and is asked once',
  async (_what, answer) => {
    const { outcome, asked } = await checked(answer)
    expect(outcome).toMatchObject({ code: 'RUNNER_UNAVAILABLE' })
    expect((outcome as Error).message).toMatch(/^The runner .*; nothing was written\.$/)
    expect(asked).toHaveLength(1)
  },
)

test('where there is no runner nobody is asked, and the reason is told', async () => {
  const runner = new HttpRunner({ endpoint: () => ({ status: 'starting', reason: 'Wait.' }) })
  await expect(runner.check({ name: 'm', source: SOURCE })).rejects.toMatchObject({
    code: 'RUNNER_UNAVAILABLE',
    message: 'No module can be checked here, so nothing was written. Wait.',
  })
})
