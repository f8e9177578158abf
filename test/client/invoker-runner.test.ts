import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { invokerRunner, ToolDispatcher } from '../../packages/client/src/index.ts'
import type { InvokerRunnerOptions } from '../../packages/client/src/index.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { chat } from './calls.ts'
import { listAnswer, listed, silence } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

async function call(workflow: InvokerRunnerOptions['workflow'], deadlineMs = 2_000): Promise<unknown> {
  const runners = [invokerRunner({ name: 'ns:do', workflow })]
  const { results } = await new ToolDispatcher({ runners, deadlineMs }).dispatch([
    chat('c', 'ns__do', { n: 1 }),
  ])
  return results[0]?.result
}

const workflowHeaders = async () => ({ Authorization: 'Bearer w' })

test('a workflow that is a function gets the canonical name and the arguments, and answers the model', async () => {
  const seen: unknown[] = []
  const result = await call(async (input, { id }) => {
    seen.push(input, id)
    return { done: true }
  })
  expect(seen).toEqual([{ name: 'ns:do', arguments: { n: 1 } }, 'c'])
  expect(result).toMatchObject({ resultType: 'success', data: { done: true } })
})

test('a workflow behind HTTP is sent the same by POST', async () => {
  let body = ''
  server.answers = [
    (req, res) => {
      req.on('data', (chunk) => (body += String(chunk)))
      req.on('end', () => json({ done: true })(req, res))
    },
  ]
  expect(await call({ url: `${server.origin}/run`, headers: workflowHeaders })).toMatchObject({
    data: { done: true },
  })
  expect(JSON.parse(body)).toEqual({ name: 'ns:do', arguments: { n: 1 } })
  expect(server.asked).toMatchObject([
    {
      method: 'POST',
      url: '/run',
      headers: { authorization: 'Bearer w', 'content-type': 'application/json' },
    },
  ])
})

test.each<[string, RequestListener, object]>([
  ['a text', listAnswer('plain'), { resultType: 'success', textResultForLlm: 'plain' }],
  ['JSON', listAnswer('[1]'), { resultType: 'success', data: [1] }],
  ['null', listAnswer('null'), { resultType: 'success', data: null }],
  [
    'a ToolResult',
    json({ resultType: 'failure', textResultForLlm: 'no', error: 'no', code: 'TOOL_RAISED' }),
    { resultType: 'failure', error: 'no' },
  ],
  [
    'an error of Google’s shape',
    json({ error: { code: 404, message: 'No such workflow.' } }, 404),
    { code: 'TOOL_RAISED', error: 'ns__do: Error: the workflow answered 404: No such workflow.' },
  ],
  [
    'an error as a page',
    listAnswer('<h1>Bad gateway</h1>', { status: 502 }),
    { code: 'TOOL_RAISED', error: 'ns__do: Error: the workflow answered 502' },
  ],
  ['nothing', silence, { code: 'DEADLINE_EXCEEDED' }],
])('a workflow that answers %s, asked once', async (_title, answer, result) => {
  server.answers = [answer]
  expect(await call({ url: server.origin }, 5_000)).toMatchObject(result)
  expect(server.asked).toHaveLength(1)
})

test('a definition of another name is found at construction', () => {
  const runner = invokerRunner({ name: 'A', definition: listed('B'), workflow: () => 1 })
  expect(() => new ToolDispatcher({ runners: [runner] })).toThrow(
    /named A, but its definition has another name/,
  )
})
