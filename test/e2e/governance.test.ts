import { afterAll, afterEach, expect, test } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Server } from '../support/server.ts'
import { listedNames, put, tool } from '../support/tool.ts'
import { until } from '../support/until.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder()
const RULES = join(folder.path, 'rules.json')
const AGENTS = join(folder.path, 'agents')

/** Writes the operator's file. Its first three rules are always the same. */
function writeRules(...more: readonly object[]): void {
  const first = [
    { effect: 'ask', tool: 'ECHO' },
    { effect: 'deny', tool: 'RUN_*' },
    { effect: 'ask', tool: 'SAY' },
  ]
  writeFileSync(RULES, JSON.stringify({ rules: [...first, ...more] }))
}
const ASK_TELL = { effect: 'ask', tool: 'TELL' }
writeRules(ASK_TELL)
mkdirSync(AGENTS)
writeFileSync(join(AGENTS, 'teacher.json'), JSON.stringify({ name: 'Teacher', tools: ['ECHO'] }))
writeFileSync(join(AGENTS, 'z-broken.json'), '{"name": ')

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
    TOOLRACK_AGENTS_DIR: AGENTS,
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

async function invoke(said: string, approval?: string, name = 'ECHO') {
  const { status, body } = await send('POST', '/tools/invoke', {
    name,
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

/** Every test starts without rules of the user. */
afterEach(() => send('DELETE', '/rules/user/local', undefined, asApprover))

const decide = (id: string, decision: object, headers: object = asApprover) =>
  send('POST', `/approvals/${id}`, decision, headers)

test('the banner says where the token is that may approve, and does not print it', () => {
  expect(server.said).toContain(join(server.data, 'approver-token'))
  expect(asApprover.Authorization).toMatch(/^Bearer [\w-]{43}$/)
  expect(server.said).not.toContain(asApprover.Authorization.slice('Bearer '.length))
})

test('agents of files are found, and a file with a fault is named in the log', async () => {
  expect((await send('GET', '/agents/teacher')).body).toMatchObject({
    agent: { name: 'Teacher', tools: ['ECHO'], source: 'file' },
  })
  expect(server.log).toContain('agent skipped  {"at":"z-broken.json')
})

async function killAndRestart(): Promise<void> {
  await server.kill9()
  await server.restart()
}

/** Asks for an approval, and answers it with the token that may. */
async function answered(decision: string, said: string, name?: string): Promise<string> {
  const { id } = await invoke(said, undefined, name)
  expect((await decide(id, { decision })).status).toBe(200)
  return id
}

test("the operator's and the user's rules, approvals in every state and agents are as they were after kill -9", async () => {
  const echoes = { runner: { kind: 'builtin', builtin: 'echo' } }
  for (const name of ['SAY', 'TELL'])
    expect((await put(server, name, tool(name, undefined, echoes))).status).toBe(201)

  expect(await listedNames(server)).toEqual(expect.arrayContaining(['ECHO', 'GET_TIME', 'READ_FILE']))
  expect(await listedNames(server)).not.toContain('RUN_COMMAND')
  const run = { name: 'RUN_COMMAND', arguments: {} }
  expect((await send('POST', '/tools/invoke', run)).body).toMatchObject({
    code: 'PERMISSION_DENIED',
    meta: { decision: { owner: { kind: 'everybody', id: 'file' }, rule: 1 } },
  })
  const ruleSet = { rules: [{ effect: 'deny', tool: 'GET_TIME' }] }
  expect((await send('PUT', '/rules/user/local', ruleSet, asApprover)).status).toBe(201)
  expect(await listedNames(server)).not.toContain('GET_TIME')

  const asked = await invoke('hello')
  expect(asked).toMatchObject({ status: 202, code: 'APPROVAL_REQUIRED' })
  expect(asked.text).toContain('Rule 0')
  const refused = await decide(asked.id, { decision: 'once' }, {})
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    403,
    expect.stringContaining('approver-token'),
  ])
  const approved = await answered('once', 'approved before')
  await answered('always', 'always', 'SAY')
  await answered('always', 'always', 'TELL')
  expect(await invoke('anything', undefined, 'SAY')).toMatchObject({ code: 'ok' })
  expect(await invoke('anything', undefined, 'TELL')).toMatchObject({ code: 'ok' })

  const created = await send('POST', '/agents', { name: 'Kept', tools: ['READ_FILE'] })
  const project = { 'x-project-id': 'p' }
  await send('PUT', '/agents/session/s', { agentId: 'kept' }, project)

  // Another rule asks about TELL, and one more about some calls of SAY.
  writeRules({ effect: 'ask', tool: 'TE*' }, { effect: 'ask', tool: 'SAY', args: { text: 'secret*' } })
  await killAndRestart()
  expect(await listedNames(server)).not.toContain('RUN_COMMAND')
  expect(await listedNames(server)).not.toContain('GET_TIME')
  const time = { name: 'GET_TIME', arguments: {} }
  expect((await send('POST', '/tools/invoke', time)).body).toMatchObject({ code: 'PERMISSION_DENIED' })
  expect(await invoke('hello')).toMatchObject({ status: 202, id: asked.id })
  expect((await decide(asked.id, { decision: 'once' })).status).toBe(200)
  expect(await invoke('approved before', approved)).toMatchObject({ status: 200, code: 'ok' })
  expect(await invoke('anything else', undefined, 'SAY')).toMatchObject({ code: 'ok' })
  expect(await invoke('secret plan', undefined, 'SAY')).toMatchObject({
    status: 202,
    text: expect.stringContaining('Rule 4'),
  })
  expect(await invoke('again', undefined, 'TELL')).toMatchObject({ status: 202 })
  expect((await send('GET', '/agents/kept')).body).toEqual(created.body)
  expect((await send('GET', '/agents/session/s/tools', undefined, project)).body).toEqual({
    tools: ['READ_FILE'],
  })

  // The file is as it was when the rule for TELL was answered, and the answer has ended all the same.
  writeRules(ASK_TELL)
  await killAndRestart()
  expect(await invoke('hello', asked.id)).toMatchObject({ status: 200, code: 'ok', text: 'hello' })
  expect(await invoke('hello', asked.id)).toMatchObject({ status: 409, code: 'APPROVAL_CONFLICT' })
  expect(await invoke('approved before', approved)).toMatchObject({ status: 409, code: 'APPROVAL_CONFLICT' })
  expect(await invoke('at last', undefined, 'TELL')).toMatchObject({ status: 202 })
  expect(await invoke('at last', undefined, 'SAY')).toMatchObject({ code: 'ok' })
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
