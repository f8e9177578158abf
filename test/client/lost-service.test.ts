import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { ToolDefs } from '../../packages/client/src/index.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { jwt, listAnswer, listed, namesOf, refusal, silence, toolDefs } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

const STANDARD = ['CREATE_TASK', 'READ_FILE', 'RUN_COMMAND', 'UPDATE_FILE', 'UPDATE_TASK']

const halfABody: RequestListener = (_req, res) => {
  res.writeHead(200, { 'Content-Length': 1_000 }).write('[{"type":"fun')
  setImmediate(() => res.destroy())
}

const FAULTS: readonly [string, RequestListener, string][] = [
  ['breaks the connection', (req) => req.socket.destroy(), 'NETWORK'],
  ['answers half a body', halfABody, 'NETWORK'],
  ['never answers', silence, 'TIMEOUT'],
  ['begins an answer and never ends it', (_req, res) => res.writeHead(200).write('['), 'TIMEOUT'],
  ['answers 408', listAnswer('', { status: 408 }), 'TIMEOUT'],
  ['answers 429', listAnswer('', { status: 429 }), 'BUSY'],
  ['answers 429 with Retry-After', listAnswer('', { status: 429, 'Retry-After': '60' }), 'BUSY'],
  ['answers 500', listAnswer('{"error":{}}', { status: 500 }), 'FAILED'],
  ['answers 502 as HTML', listAnswer('<h1>Bad gateway</h1>', { status: 502 }), 'FAILED'],
  ['answers 503', refusal(503, 'LAYER_UNAVAILABLE', 'No.'), 'FAILED'],
  ['answers HTML', listAnswer('<!doctype html><title>Welcome</title>'), 'UNREADABLE'],
  ['answers nothing', listAnswer(''), 'UNREADABLE'],
  ['answers another envelope', listAnswer({ tools: [listed('A')] }), 'UNREADABLE'],
  ['answers a list of other things', listAnswer([{ name: 'A' }]), 'UNREADABLE'],
  ['answers a list of nothings', listAnswer([null]), 'UNREADABLE'],
  ['answers 304 to what was not asked', (_req, res) => res.writeHead(304).end(), 'UNREADABLE'],
  [
    'answers an empty list that lost a layer',
    listAnswer([], { 'X-Tools-Layers': 'user=0,global=error,file=0' }),
    'LAYERS_LOST',
  ],
]

/** Only silence is ended by the deadline. Any other fault must be seen before it, on a busy machine too. */
const deadlineOf = (code: string): number => (code === 'TIMEOUT' ? 400 : 5_000)

test.each(FAULTS)('a service that %s is answered for by local definitions', async (_title, fault, code) => {
  server.answers = [fault]
  const list = await toolDefs(server, { deadlineMs: deadlineOf(code) }).list()
  expect(list).toMatchObject({
    source: 'local',
    reason: { code, message: expect.stringMatching(/^[A-Z].*\.$/) },
    revision: null,
    layers: null,
  })
  expect(namesOf(list.tools)).toEqual(STANDARD)
})

test.each(FAULTS)('a service that %s is answered for by what it said last', async (_title, fault, code) => {
  server.answers = [
    listAnswer([listed('A')], { 'X-Tools-Revision': 'r1', 'X-Tools-Layers': 'user=1' }),
    fault,
  ]
  const tools = toolDefs(server, { deadlineMs: deadlineOf(code) })
  await tools.list()
  expect(await tools.list()).toEqual({
    tools: [listed('A')],
    source: 'remembered',
    reason: { code, message: expect.any(String) },
    revision: 'r1',
    layers: { user: 1 },
    unknown: [],
    quarantined: [],
    unavailable: [],
    leftOut: [],
    unmatched: [],
  })
})

test('a service that is not there is answered for, and without a fallback it is an error that says so', async () => {
  const gone = await ScriptedServer.start()
  const service = gone.origin
  await gone[Symbol.asyncDispose]()
  expect(await new ToolDefs({ service, token: 't' }).list()).toMatchObject({
    source: 'local',
    reason: { code: 'NETWORK' },
  })
  await expect(new ToolDefs({ service, token: 't', fallback: false }).list()).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: expect.stringMatching(/cannot be reached.*nothing to fall back to/),
  })
})

test.each([
  [400, 'PARAMETER_INVALID', 'SERVICE_REFUSED'],
  [401, 'TOKEN_INVALID', 'SERVICE_REFUSED'],
  [403, 'PERMISSION_DENIED', 'SERVICE_REFUSED'],
  [404, 'ROUTE_NOT_FOUND', 'SERVICE_REFUSED'],
])('a %i is thrown, also where a list is remembered, and tried only once', async (status, reason, code) => {
  server.answers = [listAnswer([listed('A')]), refusal(status, reason, 'Mend this.')]
  const tools = toolDefs(server)
  await tools.list()
  await expect(tools.list()).rejects.toMatchObject({
    code,
    status,
    reason,
    message: `The service refused the request (${status}): Mend this.`,
  })
  expect(server.asked).toHaveLength(2)
})

test('a refusal that is not the service’s own asks whether the address is right', async () => {
  server.answers = [listAnswer('<h1>Forbidden</h1>', { status: 403 })]
  await expect(toolDefs(server).list()).rejects.toMatchObject({
    status: 403,
    message: expect.stringMatching(/is its address right\?$/),
  })
})

test('a fault that passes within the deadline is not noticed', async () => {
  server.answers = [listAnswer('', { status: 500 }), (req) => req.socket.destroy(), listAnswer([listed('A')])]
  expect(await toolDefs(server).list()).toMatchObject({ source: 'service' })
  expect(server.asked).toHaveLength(3)
})

test('a Retry-After that ends within the deadline is waited for, and one that does not is not', async () => {
  const askedMs: number[] = []
  const busy =
    (retryAfter: string): RequestListener =>
    (_req, res) => {
      askedMs.push(Date.now())
      res.writeHead(429, { 'Retry-After': retryAfter }).end()
    }
  server.answers = [busy('1'), listAnswer([listed('A')])]
  const list = await toolDefs(server).list()
  expect(list.source).toBe('service')
  expect(Date.now() - (askedMs[0] ?? 0)).toBeGreaterThanOrEqual(1_000)

  server.answers = [busy(new Date(Date.now() + 60_000).toUTCString())]
  expect(await toolDefs(server).list()).toMatchObject({ source: 'local', reason: { code: 'BUSY' } })
  expect(server.asked).toHaveLength(3)
})

test('while the service is away nobody waits for it, and once it is back it is asked again', async () => {
  server.answers = [listAnswer([listed('A')])]
  await using proxy = await TcpProxy.start(new URL(server.origin).host)
  const tools = new ToolDefs({ service: `http://${proxy.address}`, token: 't', deadlineMs: 2_000 })
  expect((await tools.list()).source).toBe('service')

  proxy.hold()
  expect(await tools.list()).toMatchObject({ source: 'remembered', reason: { code: 'TIMEOUT' } })
  const lists = await Promise.all(Array.from({ length: 100 }, () => tools.list()))
  expect(new Set(lists.map(({ source }) => source))).toEqual(new Set(['remembered']))
  expect(server.asked).toHaveLength(1)

  await proxy.restore()
  const back = await until(
    () => tools.list(),
    ({ source }) => source === 'service',
  )
  expect(back).toMatchObject({ tools: [listed('A')], reason: null })
})

test('while the service is away a pause it asked for is kept, and no list asks it meanwhile', async () => {
  server.answers = [listAnswer('', { status: 429, 'Retry-After': '60' }), listAnswer([listed('A')])]
  const tools = toolDefs(server)
  await tools.list()
  const stop = Date.now() + 1_500
  while (Date.now() < stop) {
    expect(await tools.list()).toMatchObject({ source: 'local', reason: { code: 'BUSY' } })
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(server.asked).toHaveLength(1)
})

test('a service that comes back and refuses is heard', async () => {
  server.answers = [silence]
  const tools = toolDefs(server, { deadlineMs: 100 })
  expect((await tools.list()).source).toBe('local')
  server.answers = [refusal(401, 'TOKEN_INVALID', 'A valid token is needed.')]
  const heard = await until(
    () =>
      tools.list().then(
        () => undefined,
        (error: unknown) => error,
      ),
    (error) => error !== undefined,
  )
  expect(heard).toMatchObject({ status: 401 })
})

test('what is remembered of one token is never shown with another, and is with a refreshed one', async () => {
  let claims: object = { sub: 'ann', exp: 1 }
  server.answers = [listAnswer([listed('OF_ANN')]), listAnswer('', { status: 400 })]
  const tools = toolDefs(server, { token: () => jwt(claims), deadlineMs: 2_000 })
  await tools.list()
  server.answers = [silence]
  const next = async (changed: object): Promise<[string, string[]]> => {
    claims = changed
    const { source, tools: found } = await tools.list()
    return [source, namesOf(found)]
  }
  expect(await next({ sub: 'ann', exp: 2, iat: 1, jti: 'x' })).toEqual(['remembered', ['OF_ANN']])
  expect(await next({ sub: 'bob', exp: 2 })).toEqual(['local', STANDARD])
  expect(await next({ sub: 'ann', exp: 2, tools: [{ name: 'OF_ANN' }] })).toEqual(['local', STANDARD])
  expect(await next({ sub: 'ann', exp: 3 })).toEqual(['remembered', ['OF_ANN']])
})

test.each([
  ['a layer is missing', 'user=error,global=1,file=0', { user: 'error' }],
  ['rules are missing', 'user=1,global=1,file=0,rules=error', { rules: 'error' }],
])('a list in which %s is used, and does not take the place of a whole one', async (_what, text, layers) => {
  const partial = listAnswer([listed('A')], { 'X-Tools-Layers': text })
  const whole = listAnswer([listed('A'), listed('B')], { 'X-Tools-Layers': 'user=1,global=1,file=0' })
  server.answers = [partial, whole, partial, silence]
  const tools = toolDefs(server, { deadlineMs: 2_000 })
  expect(await tools.list()).toMatchObject({ source: 'service', layers })
  await tools.list()
  expect(namesOf((await tools.list()).tools)).toEqual(['A'])
  expect(await tools.list()).toMatchObject({ source: 'remembered', tools: [listed('A'), listed('B')] })
})

test('an empty list that no layer was lost for is the truth', async () => {
  server.answers = [listAnswer([], { 'X-Tools-Layers': 'user=0,global=stale,file=0' })]
  expect(await toolDefs(server).list()).toMatchObject({ source: 'service', tools: [] })
})

test('while the service is away one list at a time asks it, whatever the lists are of', async () => {
  server.answers = [listAnswer('', { status: 500 })]
  const tools = toolDefs(server)
  await tools.list()
  expect(server.asked).toHaveLength(3)
  server.answers = [silence]
  await until(
    async () => {
      await Promise.all(Array.from('ABCDEFGH', (names) => tools.list({ names })))
      // Whatever else was sent has come before this.
      await fetch(`${server.origin}/last`, { signal: AbortSignal.timeout(20) }).catch(() => undefined)
      return server.asked.filter(({ url }) => url !== '/last').length
    },
    (asked) => asked > 3,
  )
  expect(server.asked.filter(({ url }) => url !== '/last')).toHaveLength(4)
})

test.each([
  ['a list in vain', silence, 300, 'local'],
  ['a list within a deadline of an hour', listAnswer([]), 3_600_000, 'service'],
])(
  'a program ends by itself after %s',
  async (_title, answer, deadlineMs, source) => {
    const module = new URL('../../packages/client/src/index.ts', import.meta.url).href
    const script = `const { ToolDefs } = await import('${module}')
    const tools = new ToolDefs({ service: '${server.origin}', token: 't', deadlineMs: ${deadlineMs} })
    console.log((await tools.list()).source, (await tools.list()).source)`
    server.answers = [answer]
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { timeout: 20_000 })
    let said = ''
    child.stdout.on('data', (chunk) => (said += String(chunk)))
    const [code] = (await once(child, 'close')) as [number | null]
    expect([code, said]).toEqual([0, `${source} ${source}\n`])
  },
  30_000,
)
