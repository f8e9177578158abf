import { afterAll, expect, test } from '@jest/globals'
import { existsSync } from 'node:fs'
import { ToolDefs, ToolDispatcher } from '../../packages/client/src/index.ts'
import { feedReader } from '../support/change-events.ts'
import { tool } from '../support/definition-changes.ts'
import { serverWithRunner, uploaded } from '../support/modules.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'

/** Sessions, and the changes that those who list are told of. Each test has sessions and tools of its own. */

const server = await (existsSync(PYTHON) ? serverWithRunner() : Server.start())
afterAll(() => server[Symbol.asyncDispose]())

async function put(path: string, body: object): Promise<number> {
  const answer = await server.fetch(`/workflows/${path}`, { method: 'PUT', body: JSON.stringify(body) })
  await answer.arrayBuffer()
  return answer.status
}

const define = async (name: string): Promise<void> =>
  expect(await put(`tools/defs/${name}`, tool(name))).toBe(201)

async function namesOf(path: string): Promise<readonly string[]> {
  const tools = (await (await server.fetch(path)).json()) as readonly { function: { name: string } }[]
  return tools.map((one) => one.function.name)
}

async function call(id: string, name: string, args: object = {}) {
  const body = JSON.stringify({ name, arguments: args })
  const answer = await server.fetch(`/workflows/tools/invoke?session=${id}`, { method: 'POST', body })
  return { status: answer.status, result: (await answer.json()) as Record<string, unknown> }
}

const SPEAKER = `
import time

def who(context):
    return f"{context['session']} {context['user']}"

def greet():
    return "hello"

def slow(context):
    context.progress(0.5)
    time.sleep(1)
    return "done"

TOOL_SPECS = [
    {"name": "speaker:slow", "description": "Takes a second.", "handler": slow},
    {"name": "speaker:who", "description": "Says the session.", "handler": who},
    {"name": "speaker:greet", "description": "Greets.", "handler": greet},
]
`

withPython(
  'a session with three chosen tools lists three, calls three and refuses a fourth with the reason, also after its first message and after a kill',
  async () => {
    await uploaded(server, 'speaker', SPEAKER)
    const chosen = ['ECHO', 'GET_TIME', 'speaker:who']
    expect(await put('sessions/chat', { selection: chosen, model: 'some model' })).toBe(201)
    const isBound = async (why: string): Promise<void> => {
      for (const path of ['tools/list?session=chat', 'sessions/chat/tools'])
        expect((await namesOf(`/workflows/${path}`)).toSorted()).toEqual(chosen)
      expect((await call('chat', 'ECHO', { text: 'hi' })).result['textResultForLlm']).toBe('hi')
      expect((await call('chat', 'GET_TIME')).status).toBe(200)
      expect((await call('chat', 'speaker__who')).result['textResultForLlm']).toBe('chat local')
      expect(await call('chat', 'speaker:greet')).toMatchObject({
        status: 403,
        result: { code: 'NOT_SELECTED', textResultForLlm: expect.stringContaining(why) },
      })
    }
    await isBound('Choose the tool for the session')
    const first = await server.fetch('/workflows/sessions/chat/messages', { method: 'POST', body: '{}' })
    expect(((await first.json()) as { tools: object[] }).tools).toHaveLength(3)
    await isBound('The selection is locked')
    await server.kill9()
    await server.restart()
    await isBound('The selection is locked')
    expect(await put('sessions/chat', { selection: 'all' })).toBe(409)
  },
)

withPython(
  'a call that runs when its session is deleted ends as usual, and the next one is refused',
  async () => {
    await uploaded(server, 'speaker', SPEAKER)
    await put('sessions/deleted', {})
    const { url: service, token } = server
    const dispatcher = new ToolDispatcher({ service, token, session: 'deleted' })
    const seen: unknown[] = []
    for await (const event of dispatcher.stream('speaker:slow')) {
      if (event.type === 'progress')
        seen.push((await server.fetch('/workflows/sessions/deleted', { method: 'DELETE' })).status)
      if (event.type === 'result') seen.push(event.result.textResultForLlm)
    }
    expect(seen).toEqual([204, 'done'])
    expect(await call('deleted', 'ECHO', { text: 'x' })).toMatchObject({
      status: 404,
      result: { code: 'SESSION_NOT_FOUND' },
    })
  },
)

const select = async (id: string, selection: readonly string[]): Promise<void> =>
  expect(await put(`sessions/${id}`, { selection })).toBeLessThan(300)

test('a client is told of a change of the selection and of a scope, and its watch ends with its session', async () => {
  for (const name of ['one', 'two']) await define(name)
  await select('watched', ['one', 'ECHO'])
  const defs = new ToolDefs({ service: server.url, token: server.token, session: 'watched' })
  const told: object[] = []
  let next = Promise.withResolvers<void>()
  const watching = defs.watch({
    scope: '!ECHO',
    signal: new AbortController().signal,
    onChange({ added, removed, list }) {
      told.push({ added, removed, list: list.tools.map((listed) => listed.function.name) })
      next.resolve()
      next = Promise.withResolvers()
    },
  })
  await next.promise
  const change = next.promise
  await select('watched', ['two', 'ECHO'])
  await change
  expect(told).toEqual([
    { added: [], removed: [], list: ['one'] },
    { added: ['two'], removed: ['one'], list: ['two'] },
  ])
  await server.fetch('/workflows/sessions/watched', { method: 'DELETE' })
  await expect(watching).rejects.toMatchObject({ code: 'SERVICE_REFUSED', status: 404 })
})

const DELAY = /^warn {2}the event loop was delayed {2}.*\n/gm

test('a stopping server ends its feeds at once, whole, and a client is told of changes, of the outage once, and of what changed around the restart', async () => {
  const ending = new AbortController()
  const defs = new ToolDefs({
    service: server.url,
    token: server.token,
    // The server has another port after a restart.
    fetch(asked, init) {
      const { pathname, search } = new URL(asked instanceof Request ? asked.url : asked)
      return fetch(`${server.url}${pathname}${search}`, init)
    },
  })
  const told: string[] = []
  const outages: (string | null)[] = []
  let next = Promise.withResolvers<void>()
  const watching = defs.watch({
    tags: [],
    signal: ending.signal,
    onOutage: (reason) => outages.push(reason && reason.code),
    onChange({ added, removed, isReset, list }) {
      const names = new Set(list.tools.map((listed) => listed.function.name))
      told.push(
        isReset ? 'all' : `+${added.join()} -${removed.join()} ${added.every((name) => names.has(name))}`,
      )
      next.resolve()
      next = Promise.withResolvers()
    },
  })
  await next.promise
  const feed = await server.fetch('/workflows/tools/changes', { headers: { Accept: 'text/event-stream' } })
  const read = feedReader(feed)
  const poll = server.fetch(`/workflows/tools/changes?since=${(await read())?.id}`)
  let change = next.promise
  await define('first')
  await change
  expect(await read()).toMatchObject({ data: { added: [{ name: 'first' }] } })
  expect((await poll).status).toBe(200)
  const waiting = server.fetch(
    `/workflows/tools/changes?since=${(await poll).headers.get('X-Tools-Revision')}`,
  )
  // The poll has been read when the answer to a later request on the same server is there.
  await server.fetch('/health')
  const { log } = server
  change = next.promise
  server.signal('SIGTERM')
  expect(await read()).toBeUndefined()
  expect((await waiting).status).toBe(204)
  expect(await server.ended()).toMatchObject({ code: 0, stderr: log.replaceAll(DELAY, '') })

  await server.restart()
  await define('second')
  await change
  expect(told).toEqual(['all', '+first - true', '+second - true'])
  expect(outages.length === 0 || outages.at(-1) === null).toBe(true)
  ending.abort()
  await watching
})
