import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { buffer } from 'node:stream/consumers'
import { Artifacts, Statistics, ToolDispatcher } from '../../packages/client/src/index.ts'
import type { ToolDispatcherOptions } from '../../packages/client/src/index.ts'
import { randomPng } from '../support/png.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { anthropic, chat, gemini } from './calls.ts'
import { refusal, silence } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

const ID = '0197a3c2-0000-7000-8000-000000000001'
const ARTIFACT = {
  id: ID,
  bytes: 3,
  sha256: 'x',
  type: 'text/csv',
  name: 'ü 1.csv',
  createdAt: '2026-01-02T03:04:05.000Z',
  expiresAt: '2026-01-09T03:04:05.000Z',
  invocationId: null,
  tool: null,
}

function artifacts(): Artifacts {
  return new Artifacts({ service: `${server.origin}/proxy`, token: 't' })
}

function dispatcher(options: ToolDispatcherOptions = {}): ToolDispatcher {
  return new ToolDispatcher({ service: server.origin, token: 't', ...options })
}

const asked = () => server.asked.map(({ method = '', url = '' }) => `${method} ${url}`)

test('files are uploaded, listed, linked and deleted', async () => {
  const bodies: unknown[] = []
  server.answers = [
    async (req, res) => {
      bodies.push([(await buffer(req)).toString(), req.headers['content-type'], req.headers['x-name']])
      res.writeHead(201).end(JSON.stringify(ARTIFACT))
    },
  ]
  const all = artifacts()
  expect(await all.upload('a,b', { name: 'ü 1.csv', type: 'text/csv' })).toEqual(ARTIFACT)
  await all.upload(Buffer.from('bytes'))
  await all.upload(new Blob(['blob'], { type: 'image/png' }))
  expect(bodies).toEqual([
    ['a,b', 'text/csv', '%C3%BC%201.csv'],
    ['bytes', 'application/octet-stream', undefined],
    ['blob', 'image/png', undefined],
  ])
  server.answers = [
    json({ items: [ARTIFACT], cursor: ID }),
    json({ items: [ARTIFACT], cursor: null }),
    json({ url: '/workflows/artifacts/linked/abc', expiresAt: '2026-01-02T03:14:05.000Z' }),
    (_req, res) => res.writeHead(204).end(),
  ]
  expect(await all.list()).toEqual([ARTIFACT, ARTIFACT])
  expect(await all.link(ID)).toEqual({
    url: `${server.origin}/proxy/workflows/artifacts/linked/abc`,
    expiresAt: '2026-01-02T03:14:05.000Z',
  })
  await all.delete(ID)
  expect(asked().slice(3)).toEqual([
    'GET /proxy/workflows/artifacts',
    `GET /proxy/workflows/artifacts?cursor=${ID}`,
    `POST /proxy/workflows/artifacts/${ID}/link`,
    `DELETE /proxy/workflows/artifacts/${ID}`,
  ])
})

test('a content is read whole or in part', async () => {
  server.answers = [
    (req, res) => {
      res.writeHead(req.headers.range === undefined ? 200 : 206, { 'Content-Type': 'image/png' })
      res.end(req.headers.range ?? 'whole')
    },
  ]
  const all = artifacts()
  const whole = await all.get(ID)
  expect([whole.type, await whole.text()]).toEqual(['image/png', 'whole'])
  expect(await (await all.get(ID, { start: 2, end: 5 })).text()).toBe('bytes=2-4')
  expect(await (await all.get(ID, { start: 2 })).text()).toBe('bytes=2-')
  expect(await (await all.get(ID, { end: 5 })).text()).toBe('bytes=0-4')
})

test('a missing artifact has its reason, a lost service is told, and an impossible id or part is not sent', async () => {
  const all = artifacts()
  server.answers = [refusal(404, 'ARTIFACT_NOT_FOUND', 'No.')]
  await expect(all.get(ID)).rejects.toMatchObject({ code: 'SERVICE_REFUSED', reason: 'ARTIFACT_NOT_FOUND' })
  server.answers = [
    (_req, res) => {
      res.writeHead(200, { 'Content-Length': 10 })
      res.write('half', () => res.destroy())
    },
  ]
  await expect(all.get(ID)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  server.answers = [silence]
  const hasty = new Artifacts({ service: server.origin, token: 't', deadlineMs: 50 })
  await expect(hasty.upload('x')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  const before = server.asked.length
  for (const id of ['', '../secrets', 'a/b', 'x'.repeat(65)])
    await expect(all.get(id)).rejects.toThrow('id must be the id of an artifact')
  for (const part of [{ start: -1 }, { start: 3, end: 3 }, { end: 0 }, { start: NaN }])
    await expect(all.get(ID, part)).rejects.toThrow('end must be greater than start')
  expect(server.asked).toHaveLength(before)
})

test('the statistics of tools are read', async () => {
  const answer = { window: 'hour', from: '2026-01-02T03:00:00.000Z', incompleteSince: null, tools: [] }
  server.answers = [json(answer)]
  const statistics = new Statistics({ service: server.origin, token: 't' })
  expect(await statistics.tools({ window: 'hour', name: 'a:b', uid: 'ann' })).toEqual(answer)
  await statistics.tools()
  expect(asked()).toEqual([
    'GET /workflows/tools/stats?window=hour&name=a%3Ab&uid=ann',
    'GET /workflows/tools/stats?window=day',
  ])
})

const PNG = randomPng(316)
const TEXT = 'a chart'
const RESULT = {
  resultType: 'success',
  textResultForLlm: TEXT,
  content: [{ type: 'image', artifact: ID, mimeType: 'image/png', name: 'chart.png', bytes: PNG.length }],
  meta: {},
}
const dispatched = json({
  format: 'openai',
  messages: [],
  pending: [],
  results: [{ index: 0, id: 'call_0', name: 'PLOT', result: RESULT }],
})
const NOT_SHOWN = `${TEXT}\nThe image "chart.png" (image/png, ${PNG.length} bytes) is the artifact ${ID}. You do not see it here.`

test('an image of a result is loaded and is in the message, also in that of complete', async () => {
  const send = [dispatched, (_req: unknown, res: { end: (bytes: Buffer) => void }) => res.end(PNG)]
  for (const call of [anthropic('c', 'PLOT', {}), gemini('c', 'PLOT', {})]) {
    server.answers = [...send]
    const { messages, results } = await dispatcher().dispatch([call])
    const text = JSON.stringify(messages)
    expect(text).toContain(PNG.toString('base64'))
    expect(text.length - PNG.toString('base64').length).toBeLessThan(500)
    const stored = JSON.parse(JSON.stringify(results)) as typeof results
    expect(dispatcher().complete([call], stored).messages).toEqual(messages)
  }
  expect(asked().at(-1)).toBe(`GET /workflows/artifacts/${ID}`)
})

/** The text of the messages of a dispatch. */
async function messagesOf(call: object, options?: ToolDispatcherOptions): Promise<string> {
  return JSON.stringify((await dispatcher(options).dispatch([call])).messages)
}

test('no image is loaded for a vendor or a caller that takes none, and one that cannot be loaded is a sentence', async () => {
  const sentence = JSON.stringify(NOT_SHOWN).slice(1, -1)
  server.answers = [dispatched]
  expect(await messagesOf(chat('c', 'PLOT', {}))).toContain(sentence)
  expect(await messagesOf(anthropic('c', 'PLOT', {}), { images: false })).toContain(sentence)
  expect(server.asked).toHaveLength(2)
  for (const lost of [
    refusal(404, 'ARTIFACT_NOT_FOUND', 'No.'),
    refusal(401, 'TOKEN_INVALID', 'No.'),
    refusal(503, 'X', 'No.'),
  ]) {
    server.answers = [dispatched, lost]
    expect(await messagesOf(anthropic('c', 'PLOT', {}))).toContain(sentence)
  }
})

test('a caller who leaves while an image is loaded gets the reason of its signal', async () => {
  const controller = new AbortController()
  server.answers = [dispatched, () => controller.abort(new Error('left'))]
  await expect(
    dispatcher().dispatch([anthropic('c', 'PLOT', {})], { signal: controller.signal }),
  ).rejects.toThrow('left')
})

test('a call above a limit is made again when the service says so, and fails with the limit if that is too late', async () => {
  const refused = {
    resultType: 'failure',
    textResultForLlm: 'Wait.',
    error: 'Wait.',
    code: 'LIMIT_EXCEEDED',
    meta: {},
  }
  const done = { resultType: 'success', textResultForLlm: 'done', meta: {} }
  server.answers = [json(refused, 429, { 'Retry-After': '1' }), json(done)]
  expect(await dispatcher().invoke('T')).toMatchObject({ textResultForLlm: 'done' })
  expect(server.asked).toHaveLength(2)
  server.answers = [json(refused, 429, { 'Retry-After': '60' })]
  expect(await dispatcher({ deadlineMs: 5_000 }).invoke('T')).toMatchObject({ code: 'LIMIT_EXCEEDED' })
  expect(server.asked).toHaveLength(3)
})
