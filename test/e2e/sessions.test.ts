import { expect } from '@jest/globals'
import { ToolDispatcher } from '../../packages/client/src/index.ts'
import { serverWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'

async function put(server: Server, id: string, body: object): Promise<number> {
  const init = { method: 'PUT', body: JSON.stringify(body) }
  return (await server.fetch(`/workflows/sessions/${id}`, init)).status
}

async function namesOf(server: Server, path: string): Promise<readonly string[]> {
  const tools = (await (await server.fetch(path)).json()) as readonly { function: { name: string } }[]
  return tools.map((tool) => tool.function.name)
}

async function call(server: Server, id: string, name: string, args: object = {}) {
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
    await using server = await serverWithRunner()
    await uploaded(server, 'speaker', SPEAKER)
    const chosen = ['ECHO', 'GET_TIME', 'speaker:who']
    expect(await put(server, 'chat', { selection: chosen, model: 'some model' })).toBe(201)
    const isBound = async (why: string): Promise<void> => {
      for (const path of ['tools/list?session=chat', 'sessions/chat/tools'])
        expect((await namesOf(server, `/workflows/${path}`)).toSorted()).toEqual(chosen)
      expect((await call(server, 'chat', 'ECHO', { text: 'hi' })).result['textResultForLlm']).toBe('hi')
      expect((await call(server, 'chat', 'GET_TIME')).status).toBe(200)
      expect((await call(server, 'chat', 'speaker__who')).result['textResultForLlm']).toBe('chat local')
      expect(await call(server, 'chat', 'speaker:greet')).toMatchObject({
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
    expect(await put(server, 'chat', { selection: 'all' })).toBe(409)
  },
)

withPython(
  'a call that runs when its session is deleted ends as usual, and the next one is refused',
  async () => {
    await using server = await serverWithRunner()
    await uploaded(server, 'speaker', SPEAKER)
    await put(server, 's', {})
    const dispatcher = new ToolDispatcher({ service: server.url, token: server.token, session: 's' })
    const seen: unknown[] = []
    for await (const event of dispatcher.stream('speaker:slow')) {
      if (event.type === 'progress')
        seen.push((await server.fetch('/workflows/sessions/s', { method: 'DELETE' })).status)
      if (event.type === 'result') seen.push(event.result.textResultForLlm)
    }
    expect(seen).toEqual([204, 'done'])
    expect(await call(server, 's', 'ECHO', { text: 'x' })).toMatchObject({
      status: 404,
      result: { code: 'SESSION_NOT_FOUND' },
    })
  },
)
