import { afterAll, expect, test } from '@jest/globals'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { localAccess } from '../../../functions/src/hosts/authentication.ts'
import { inProcess } from '../../support/in-process.ts'
import { memoryAudit } from '../../support/memory-audit.ts'
import { NOW } from '../../support/signed-tokens.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const TOKENS = { printed: 'p'.repeat(43), approver: 'a'.repeat(43) }

function echo(name: string): ToolDefinition {
  const parameters = { type: 'object', properties: { text: { type: 'string' } } }
  return {
    type: 'function',
    function: { name, description: 'Echoes.', parameters },
    runner: { kind: 'builtin', builtin: 'echo' },
  } as unknown as ToolDefinition
}

const audit = memoryAudit({ now: () => NOW })
const folder = temporaryFolder()
const service = await inProcess(
  localAccess(TOKENS.printed, undefined, () => NOW, TOKENS.approver),
  [echo('say'), echo('shout')],
  () => NOW,
  { audit, toolsFolders: [folder.path] },
)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

async function ask(request: string, body?: unknown, token: keyof typeof TOKENS = 'printed') {
  const [method = '', path = ''] = request.split(' ')
  const base = path.startsWith('/api/') ? service.url : `${service.url}/workflows`
  const answer = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${TOKENS[token]}` },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await answer.text()
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as JsonObject }
}

async function newest(count = 1): Promise<readonly JsonObject[]> {
  await audit.written()
  return (await audit.page({ limit: count })).texts.map((text) => JSON.parse(text) as JsonObject).toReversed()
}
async function recorded(...asked: Parameters<typeof ask>) {
  const answer = await ask(...asked)
  const [record = {}] = await newest()
  return { ...answer, record }
}

const rulesOf = (rules: readonly object[]) => ask('PUT /rules/user/local', { rules }, 'approver')
const said = { name: 'say', arguments: { text: 'hi' } }

test('a record says with which token of the embedded server something was done', async () => {
  const printed = await recorded('POST /tools/invoke', said)
  expect(printed.record['principal']).toEqual({ kind: 'user', uid: 'local', token: 'printed' })
  const approver = await recorded('POST /tools/invoke', said, 'approver')
  expect(approver.record['principal']).toEqual({ kind: 'user', uid: 'local', token: 'approver' })
  await rulesOf([{ effect: 'deny', tool: 'shout' }])
  expect((await newest())[0]).toMatchObject({ kind: 'write', principal: { token: 'approver' } })
  const refused = await recorded('PUT /rules/user/local', { rules: [] })
  expect(refused.record).toMatchObject({ outcome: 'PERMISSION_DENIED', principal: { token: 'printed' } })
  const calls = [{ type: 'tool_use', id: 'a', name: 'local', input: {} }]
  const done = { format: 'anthropic', calls, results: [{ index: 0, result: 'done' }] }
  expect((await recorded('POST /tools/dispatch/complete', done)).record).toMatchObject({
    reported: true,
    principal: { token: 'printed' },
  })
  expect((await audit.verify()).fault).toBeNull()
})

test('a call, its approval and the call that goes on have the same id of the approval in their records', async () => {
  await rulesOf([{ effect: 'ask', tool: 'say' }])
  const plain = await recorded('POST /tools/invoke', { ...said, name: 'nothing' })
  expect(plain.record['approval']).toBeNull()
  const asked = await recorded('POST /tools/invoke', said)
  const { id } = (asked.body['meta'] as { approval: { id: string } }).approval
  expect(asked.record).toMatchObject({ outcome: 'APPROVAL_REQUIRED', approval: id })
  const decided = await recorded(`POST /approvals/${id}`, { decision: 'once' }, 'approver')
  expect(decided.record).toMatchObject({ kind: 'approval', decision: 'once', approval: id, tool: 'say' })
  const used = await recorded('POST /tools/invoke', { ...said, approval: id })
  expect(used.record).toMatchObject({ outcome: 'ok', approval: id, decision: 'ask' })
  // It is used up, so this call has none.
  const again = await recorded('POST /tools/invoke', { ...said, approval: id })
  expect(again.record).toMatchObject({ outcome: 'APPROVAL_CONFLICT', approval: null })
})

test('a call that runs because of an earlier answer names the approval that was answered', async () => {
  await rulesOf([{ effect: 'ask', tool: 'say' }])
  const { body } = await ask('POST /tools/invoke', said)
  const { id } = (body['meta'] as { approval: { id: string } }).approval
  await ask(`POST /approvals/${id}`, { decision: 'always' }, 'approver')
  const call = await recorded('POST /tools/invoke', { ...said, arguments: { text: 'other' } })
  expect(call.record).toMatchObject({ outcome: 'ok', approval: id })
  const dispatched = await recorded('POST /tools/dispatch', [
    { type: 'tool_use', id: 'x', name: 'say', input: { text: 'third' } },
  ])
  expect(dispatched.record).toMatchObject({ outcome: 'ok', approval: id })
  await rulesOf([])
})

test('writes of sessions have the digests before and after, and a fork its new session and selection', async () => {
  const made = await recorded('PUT /sessions/first', { selection: ['say', 'shout'] })
  const { digest } = made.body
  expect(made.record).toMatchObject({ digest, subject: { outcome: 'created', before: null } })
  const changed = await recorded('PUT /sessions/first', { selection: ['say'] })
  expect(changed.record).toMatchObject({
    digest: changed.body['digest'],
    subject: { outcome: 'updated', before: digest },
  })
  const same = await recorded('PUT /sessions/first', { selection: ['say'] })
  expect(same.record).toMatchObject({
    digest: changed.body['digest'],
    subject: { outcome: 'unchanged', before: changed.body['digest'] },
  })
  const forked = await recorded('POST /sessions/first/fork', { id: 'second' })
  expect(forked.record).toMatchObject({
    kind: 'write',
    digest: forked.body['digest'],
    subject: { names: ['first'], session: 'second', selection: ['say'], tools: 1, outcome: 'created' },
  })
  const all = await recorded('POST /sessions/first/fork', { id: 'third', selection: 'all' })
  expect(all.record).toMatchObject({ subject: { session: 'third', selection: 'all' } })
  const locked = await recorded('POST /sessions/second/messages', {})
  expect(locked.record).toMatchObject({
    digest: expect.stringMatching(/^sha256:/),
    subject: { lockedAt: locked.body['lockedAt'], selection: ['say'], tools: 1 },
  })
  const gone = await recorded('DELETE /sessions/first')
  expect(gone.record).toMatchObject({ digest: changed.body['digest'], subject: { outcome: 'deleted' } })
  const refused = await recorded('POST /sessions/first/fork', { id: 'fourth' })
  expect(refused.record).toMatchObject({ outcome: 'SESSION_NOT_FOUND', digest: null })
})

test('a fork with many tools records the first names and their number', async () => {
  const names = Array.from({ length: 150 }, (_, index) => `many_${String(index).padStart(3, '0')}`)
  const definitions = names.map((name) => ({ type: 'function', function: { ...echo(name).function, name } }))
  expect((await ask('POST /tools/defs', definitions)).status).toBe(200)
  await ask('PUT /sessions/wide', { selection: names })
  const { record } = await recorded('POST /sessions/wide/fork', { id: 'wider' })
  const { selection, tools } = record['subject'] as { selection: string[]; tools: number }
  expect([selection.length, tools]).toEqual([100, 150])
})

test('writes of scopes have the digests before and after', async () => {
  const made = await recorded('PUT /scopes/room/hall', { scope: 'say' })
  expect(made.record).toMatchObject({
    digest: made.body['digest'],
    subject: { outcome: 'created', before: null },
  })
  const off = await recorded('POST /scopes/room/hall/commands', { text: '/tools off' })
  expect(off.record).toMatchObject({
    digest: off.body['digest'],
    subject: { outcome: 'updated', before: made.body['digest'] },
  })
  const shown = await recorded('POST /scopes/room/hall/commands', { text: '/tools' })
  expect(shown.record).toMatchObject({ digest: null, subject: { outcome: 'shown' } })
  const gone = await recorded('DELETE /scopes/room/hall')
  expect(gone.record).toMatchObject({ digest: off.body['digest'], subject: { outcome: 'deleted' } })
})

const USE = { type: 'tool_use', id: 'x', name: 'say', input: {} }
test.each([
  ['a dispatch of no calls', '/tools/dispatch', '[]', 'CALLS_INVALID'],
  ['a dispatch of what no vendor writes', '/tools/dispatch', '[{"a":1}]', 'CALLS_INVALID'],
  ['a dispatch of two vendors', '/tools/dispatch', JSON.stringify([USE, { id: 1 }]), 'CALLS_INVALID'],
  ['a dispatch that is no JSON', '/tools/dispatch', '[', 'BODY_INVALID'],
  [
    'a dispatch with a query that is not known',
    '/tools/dispatch?x=1',
    JSON.stringify([USE]),
    'PARAMETER_UNKNOWN',
  ],
  ['a report that is no JSON', '/tools/dispatch/complete', '[', 'BODY_INVALID'],
  ['a report without results', '/tools/dispatch/complete', '{"calls":[]}', 'BODY_INVALID'],
])('%s is refused, and the refusal has one record', async (_what, path, body, code) => {
  const [before] = await newest()
  const { status, record } = await recorded(`POST ${path}`, body)
  expect(status).toBe(400)
  expect(record).toMatchObject({ kind: 'call', phase: 'end', outcome: code, tool: null, arguments: null })
  expect(record['reported']).toBe(path.endsWith('complete') ? true : undefined)
  expect(Number(record['seq'])).toBe(Number(before?.['seq']) + 1)
})

test('a simulation and a refresh have kinds of their own, with what was asked and answered', async () => {
  await rulesOf([{ effect: 'deny', tool: 'shout' }])
  const simulated = await recorded('POST /permissions/simulate', { name: 'shout', as: { uid: 'bob' } })
  expect(simulated.record).toMatchObject({ kind: 'simulation', tool: 'shout', subject: { as: 'bob' } })
  const own = await recorded('POST /permissions/simulate', { name: 'shout' })
  expect(own.record).toMatchObject({
    kind: 'simulation',
    tool: 'shout',
    outcome: 'ok',
    decision: 'deny',
    rule: { owner: { kind: 'user', id: 'local' }, index: 0 },
    subject: { as: 'local' },
  })
  const unknown = await recorded('POST /permissions/simulate', { name: 'nothing' })
  expect(unknown.record).toMatchObject({ kind: 'simulation', outcome: 'TOOL_NOT_FOUND' })
  const refreshed = await recorded('POST /api/tools/refresh')
  expect(refreshed.record).toMatchObject({ kind: 'refresh', outcome: 'ok' })
  await rulesOf([])
})
