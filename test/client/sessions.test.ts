import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { Sessions, ToolDispatcher } from '../../packages/client/src/index.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { listAnswer, listed, namesOf, refusal, toolDefs } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

const away = refusal(503, 'STORE_FAILED', 'No.')
const addresses = (): readonly string[] => server.asked.map(({ url = '' }) => url)

test('lists and calls name the session of the client, and a list can name another', async () => {
  const success = { resultType: 'success', textResultForLlm: 'done' }
  server.answers = [
    listAnswer([]),
    listAnswer([]),
    json(success),
    json({ results: [{ result: success }], pending: [] }),
  ]
  const defs = toolDefs(server, { session: 'a:b' })
  await defs.list()
  await defs.list({ session: 'other' })
  const dispatcher = new ToolDispatcher({ service: server.origin, token: 't', session: 'a:b' })
  await dispatcher.invoke('ECHO')
  await dispatcher.dispatch([{ type: 'tool_use', id: '1', name: 'ECHO', input: {} }])
  expect(addresses()).toEqual([
    '/workflows/tools/list?envelope=array&session=a%3Ab',
    '/workflows/tools/list?envelope=array&session=other',
    '/workflows/tools/invoke?session=a%3Ab',
    '/workflows/tools/dispatch?images=0&session=a%3Ab',
  ])
})

test('while the service is away, local definitions are listed as far as the session had them', async () => {
  server.answers = [listAnswer([listed('READ_FILE'), listed('OTHER')]), away]
  const defs = toolDefs(server, { session: 's' })
  await defs.list()
  const local = await defs.list({ tags: [], names: 'READ_FILE,RUN_COMMAND' })
  expect([local.source, namesOf(local.tools), local.unknown]).toEqual([
    'local',
    ['READ_FILE'],
    ['RUN_COMMAND'],
  ])
})

test.each(['anthropic', 'gemini'] as const)(
  'the selection is known from a list in %s, too',
  async (dialect) => {
    const declared = [{ name: 'READ_FILE', description: '', input_schema: {}, parameters: {} }]
    server.answers = [
      listAnswer(dialect === 'gemini' ? [{ functionDeclarations: declared }] : declared),
      away,
    ]
    const defs = toolDefs(server, { session: 's' })
    await defs.list({ dialect })
    expect(namesOf((await defs.list()).tools)).toEqual(['READ_FILE'])
  },
)

test.each([{ q: 'run a command' }, { scope: '@cli' }, { budget: 100 }])(
  'a list with %j, which may have fewer tools, does not replace the known selection',
  async (options) => {
    const tokens = { 'X-Tools-Tokens': '90/100; full=1; short=0; deferred=0; dropped=1' }
    server.answers = [
      listAnswer([listed('READ_FILE'), listed('RUN_COMMAND')]),
      listAnswer([listed('RUN_COMMAND')], tokens),
      away,
    ]
    const defs = toolDefs(server, { session: 's' })
    await defs.list()
    await defs.list(options)
    const local = await defs.list({ tags: [], names: 'READ_FILE,RUN_COMMAND' })
    expect([local.source, namesOf(local.tools)]).toEqual(['local', ['READ_FILE', 'RUN_COMMAND']])
  },
)

test('a list with a budget that has every tool is a whole list of the session', async () => {
  const tokens = { 'X-Tools-Tokens': '90/100; full=1; short=0; deferred=0; dropped=0' }
  server.answers = [listAnswer([listed('READ_FILE')], tokens), away]
  const defs = toolDefs(server, { session: 's' })
  await defs.list({ budget: 100 })
  expect(namesOf((await defs.list()).tools)).toEqual(['READ_FILE'])
})

test('without a whole list of the session, no local tool is listed', async () => {
  server.answers = [listAnswer([listed('READ_FILE')]), away]
  const defs = toolDefs(server, { session: 's' })
  await defs.list({ names: 'READ_FILE' })
  await expect(defs.list()).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: expect.stringContaining('The selection of the session is not known'),
  })
  expect((await defs.list({ session: undefined })).source).toBe('local')
})

test('sessions are put, read, locked, forked and deleted', async () => {
  const bodies: unknown[] = []
  server.answers = [
    async (req: IncomingMessage, res) => {
      const body = await text(req)
      bodies.push([req.method, req.url, body === '' ? null : JSON.parse(body)])
      if (req.method === 'DELETE') res.writeHead(204).end()
      else res.end('{"id":"s"}')
    },
  ] as typeof server.answers
  const sessions = new Sessions({ service: server.origin, token: 't' })
  expect(await sessions.put('s', { selection: ['A'] })).toEqual({ id: 's' })
  await sessions.get('s')
  await sessions.firstMessage('s')
  await sessions.firstMessage('s', 'none')
  await sessions.fork('s', { id: 'f' })
  expect(await sessions.delete('s')).toBeUndefined()
  expect(bodies).toEqual([
    ['PUT', '/workflows/sessions/s', { selection: ['A'] }],
    ['GET', '/workflows/sessions/s', null],
    ['POST', '/workflows/sessions/s/messages', {}],
    ['POST', '/workflows/sessions/s/messages', { selection: 'none' }],
    ['POST', '/workflows/sessions/s/fork', { id: 'f' }],
    ['DELETE', '/workflows/sessions/s', null],
  ])
})

test('a refusal has the code of the service, and a service that is away is one', async () => {
  const sessions = new Sessions({ service: server.origin, token: 't' })
  server.answers = [refusal(409, 'SESSION_LOCKED', 'It is locked.')]
  await expect(sessions.put('s')).rejects.toMatchObject({ code: 'SERVICE_REFUSED', reason: 'SESSION_LOCKED' })
  for (const answer of [away, listAnswer('<h1>Welcome</h1>')]) {
    server.answers = [answer]
    await expect(sessions.get('s')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  }
  for (const id of ['', '..', 'a/b'])
    await expect(sessions.get(id)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
})
