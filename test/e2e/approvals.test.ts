import { afterAll, expect, test } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder()
const RULES = join(folder.path, 'rules.json')
const rules = (...more: readonly object[]): void =>
  writeFileSync(RULES, JSON.stringify({ rules: [{ effect: 'ask', tool: 'ECHO' }, ...more] }))
rules()
/** The operator's webhook. */
const told: string[] = []
const webhook = createServer((req, res) => {
  void text(req).then((body) => told.push(body))
  res.end()
}).listen(0, '127.0.0.1')
await once(webhook, 'listening')
const server = await Server.start({
  env: {
    TOOLRACK_RULES_FILE: RULES,
    TOOLRACK_APPROVALS_WEBHOOK: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/`,
    TOOLRACK_APPROVALS_WEBHOOK_SECRET: 'x'.repeat(16),
  },
})
afterAll(async () => {
  webhook.close().closeAllConnections()
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const asApprover = server.approver

async function send(method: string, path: string, body?: unknown, headers = {}) {
  const answer = await server.fetch(`/workflows${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
}

async function invoke(said: string, approval?: string) {
  const { status, body } = await send('POST', '/tools/invoke', {
    name: 'ECHO',
    arguments: { text: said },
    approval,
  })
  const result = body as unknown as InvocationResult
  const id = result.meta.approval?.id ?? ''
  return {
    status,
    code: result.resultType === 'failure' ? result.code : 'ok',
    id,
    text: result.textResultForLlm,
  }
}

const decide = (id: string, decision: object, headers: object = asApprover) =>
  send('POST', `/approvals/${id}`, decision, headers)

test('the banner says where the token is that may approve, and does not print it', () => {
  expect(server.said).toContain(join(server.data, 'approver-token'))
  expect(asApprover.Authorization).toMatch(/^Bearer [\w-]{43}$/)
  expect(server.said).not.toContain(asApprover.Authorization.slice('Bearer '.length))
})

test('a call that a rule asks about is approved with the second token only, and runs once, after a restart of everything', async () => {
  const asked = await invoke('hello')
  expect(asked).toMatchObject({ status: 202, code: 'APPROVAL_REQUIRED' })
  expect(asked.text).toContain('Rule 0')
  const refused = await decide(asked.id, { decision: 'once' }, {})
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    403,
    expect.stringContaining('approver-token'),
  ])
  await server.kill9()
  await server.restart()
  expect(await invoke('hello')).toMatchObject({ status: 202, id: asked.id })
  expect((await decide(asked.id, { decision: 'once' })).status).toBe(200)
  await server.kill9()
  await server.restart()
  expect(await invoke('hello', asked.id)).toMatchObject({ status: 200, code: 'ok', text: 'hello' })
  expect(await invoke('hello', asked.id)).toMatchObject({ status: 409, code: 'APPROVAL_CONFLICT' })
})

test('the printed token reads approvals, but does not decide, cancel or write rules', async () => {
  const { id } = await invoke('read')
  expect((await send('GET', `/approvals/${id}`)).body).toMatchObject({
    status: 'pending',
    arguments: { text: 'read' },
  })
  expect((await send('DELETE', `/approvals/${id}`)).status).toBe(403)
  const ruleSet = { rules: [{ effect: 'deny', tool: 'ECHO' }] }
  expect((await send('PUT', '/rules/user/local', ruleSet)).status).toBe(403)
  expect((await send('DELETE', '/rules/user/local')).status).toBe(403)
  expect((await send('PUT', '/rules/user/local', ruleSet, asApprover)).status).toBe(201)
  expect(await invoke('read', id)).toMatchObject({
    code: expect.stringMatching(/PERMISSION_DENIED|TOOL_NOT_FOUND/),
  })
  expect((await send('DELETE', '/rules/user/local', undefined, asApprover)).status).toBe(200)
  expect((await send('DELETE', `/approvals/${id}`, undefined, asApprover)).status).toBe(204)
  expect(await invoke('read', id)).toMatchObject({ status: 404, code: 'APPROVAL_NOT_FOUND' })
})

test('the second token is not valid for jobs', async () => {
  const answer = await server.fetch('/jobs/tools/list', { headers: asApprover })
  expect(answer.status).toBe(401)
})

test('in dispatch the call is pending; invoke makes it, and complete writes the messages', async () => {
  const calls = [
    { type: 'tool_use', id: 'a', name: 'ECHO', input: { text: 'one' } },
    { type: 'tool_use', id: 'b', name: 'GET_TIME', input: {} },
  ]
  const { body } = await send('POST', '/tools/dispatch', calls)
  const [pending] = body['pending'] as {
    index: number
    kind: string
    approval: { id: string }
    arguments: object
  }[]
  expect(body).toMatchObject({
    pending: [
      { index: 0, id: 'a', name: 'ECHO', kind: 'approval', arguments: { text: 'one' }, call: calls[0] },
    ],
    results: [{ index: 0, result: null }, { index: 1 }],
  })
  const id = pending?.approval.id ?? ''
  await decide(id, { decision: 'once' })
  const request = { name: 'ECHO', arguments: pending?.arguments, approval: id }
  const { body: result } = await send('POST', '/tools/invoke', request)
  const results = [...(body['results'] as object[]), { index: 0, result }]
  const completed = await send('POST', '/tools/dispatch/complete', { format: 'anthropic', calls, results })
  expect(JSON.stringify(completed.body)).toContain('"content":"one"')
})

test('an always is bound to the rule until a start without it, and other rules that ask still ask', async () => {
  const { id } = await invoke('always')
  expect((await decide(id, { decision: 'always' })).status).toBe(200)
  expect(await invoke('anything')).toMatchObject({ code: 'ok' })
  rules({ effect: 'ask', tool: 'ECHO', args: { text: 'secret*' } })
  await server.kill9()
  await server.restart()
  expect(await invoke('anything else')).toMatchObject({ code: 'ok' })
  const more = await invoke('secret plan')
  expect(more).toMatchObject({ status: 202, text: expect.stringContaining('Rule 1') })
  writeFileSync(RULES, JSON.stringify({ rules: [{ effect: 'ask', tool: 'EC*' }] }))
  await server.kill9()
  await server.restart()
  expect(await invoke('again')).toMatchObject({ status: 202 })
  // The file is as it was when the rule was answered, and the answer has ended all the same.
  rules()
  await server.kill9()
  await server.restart()
  expect(await invoke('at last')).toMatchObject({ status: 202 })
})

test('the webhook is told about a new approval, and a webhook that is gone delays and fails no call', async () => {
  const { id } = await invoke('tell')
  const [message = ''] = await until(
    () => Promise.resolve(told.filter((body) => body.includes(id))),
    ({ length }) => length > 0,
  )
  expect(JSON.parse(message)).toEqual({
    type: 'approval.pending',
    id,
    tool: 'ECHO',
    uid: 'local',
    expiresAt: expect.any(String),
  })
  webhook.close().closeAllConnections()
  expect(await invoke('nobody hears this')).toMatchObject({ status: 202 })
})
