import { afterAll, expect, test } from '@jest/globals'
import { definitionDigest, toolFailure, toolResult } from '@toolrack/contract'
import type { JsonObject, RuleDecision, ToolDefinition, ToolResult } from '@toolrack/contract'
import {
  awaitApproval,
  takeEditedArguments,
} from '../../../../functions/src/features/approvals/approval-steps.ts'
import {
  APPROVAL_MS,
  ARGUMENTS_KEPT_MS,
  argumentsHash,
} from '../../../../functions/src/features/approvals/approval.ts'
import { Approvals, type NewApproval } from '../../../../functions/src/features/approvals/approvals.ts'
import {
  outcomeOf,
  type Authorised,
  type CallRequest,
  type Resolved,
} from '../../../../functions/src/calls/call.ts'
import { Onion, type Step } from '../../../../functions/src/calls/onion.ts'
import { resolveTool } from '../../../../functions/src/calls/pipeline/resolve-tool.ts'
import { readRequest, validateArguments } from '../../../../functions/src/calls/pipeline/steps.ts'
import { grantOf, type Principal } from '../../../../functions/src/access/principal.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteDocuments } from '../../../../functions/src/stores/sqlite/sqlite-documents.ts'
import { ApprovalStore } from '../../../../functions/src/features/approvals/approval-store.ts'
import { ArgumentValidator } from '../../../../functions/src/catalog/schemas/argument-validator.ts'
import { receivedCall } from '../../../support/call-stages.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const validator = new ArgumentValidator({ log })
afterAll(() => validator.close())

const HOUR = 60 * 60 * 1_000

function withParameters(definition: ToolDefinition, parameters: JsonObject): ToolDefinition {
  return {
    ...definition,
    function: { ...definition.function, parameters },
    runner: { kind: 'builtin', builtin: 'echo' },
  }
}

function echo(description = 'Says the text.', name = 'ECHO'): ToolDefinition {
  const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  return withParameters(tool(name, description), parameters)
}

function jobOf(uid: string, workflowId: string): Principal {
  const grant = grantOf([{ name: 'ECHO', digest: definitionDigest(echo()) }])
  return { kind: 'job', uid, isAdmin: false, grant, workflowId }
}

const ASK: RuleDecision = {
  effect: 'ask',
  owner: { kind: 'everybody', id: 'all' },
  rule: 0,
  reason: 'Rule 0 for everybody says ask.',
}

/** The steps around the approval, with real arguments' checks and a real store, and a clock, rules and definitions that the test sets. */
function service() {
  const database = openGovernance(':memory:')
  const state = {
    nowMs: 1_700_000_000_000,
    decide: (_args: JsonObject): RuleDecision => ASK,
    tools: [echo(), echo('Says it louder.', 'SHOUT')] as ToolDefinition[],
    result: (text: unknown): ToolResult => toolResult(text),
    /** The revision at which the tools were written. */
    revision: '1',
    isLost: false,
    mayHaveRun: false,
  }
  const ran: JsonObject[] = []
  const announced: NewApproval[] = []
  const restarted = () =>
    new Approvals({
      store: new ApprovalStore(new SqliteDocuments(database, { now: () => state.nowMs })),
      now: () => state.nowMs,
      announce: (approval) => announced.push(approval),
    })
  const authorise: Step<Resolved, Authorised> = (call, next) => {
    const decision = state.decide(call.request.arguments)
    const asks = decision.effect === 'ask' ? [{ ...decision, says: `rule ${decision.rule}` }] : []
    return next({ ...call, decision, asks })
  }
  const view = () =>
    catalogView({ user: state.isLost ? 'error' : [], global: state.tools }, [], state.revision)
  async function call(request: Partial<CallRequest> = {}, uid = 'ann', workflow?: string) {
    // Every call finds the state of the store only, as after a restart.
    const approvals = restarted()
    const take = Onion.withoutSteps({ log, countAfterNext: () => undefined })
      .step('read the request', readRequest)
      .step('resolve the tool', resolveTool({ catalog: { view } }))
      .step('take edited arguments', takeEditedArguments({ approvals }))
      .step('authorise the call', authorise)
      .step('validate the arguments', validateArguments<Authorised>({ validator }))
      .step('await the approval', awaitApproval({ approvals }))
      .run('run the tool', async (inner) => {
        await Promise.resolve()
        ran.push(inner.request.arguments)
        const outcome = outcomeOf(inner, state.result(inner.request.arguments['text']))
        return { ...outcome, mayHaveRun: state.mayHaveRun }
      })
    const sent = {
      name: 'ECHO',
      arguments: { text: 'hi' },
      context: {},
      expectedDigest: undefined,
      ...request,
    }
    const outcome = await take(
      receivedCall({
        invocationId: crypto.randomUUID(),
        principal: workflow === undefined ? { kind: 'user', uid, isAdmin: false } : jobOf(uid, workflow),
        read: () => sent,
      }),
    )
    const code = outcome.result.resultType === 'failure' ? outcome.result.code : 'ok'
    return { code, approval: outcome.approval, text: outcome.result.textResultForLlm }
  }
  async function approved(request: Partial<CallRequest> = {}) {
    const id = (await call(request)).approval?.id ?? ''
    await restarted().decide('ann', id, { decision: 'once' })
    return id
  }
  return { state, ran, announced, approvals: restarted(), call, approved }
}

test('a call that a rule asks about waits; an equal call gets the same approval, and others another', async () => {
  const { call, ran, announced } = service()
  const first = await call()
  expect(first).toMatchObject({ code: 'APPROVAL_REQUIRED', text: expect.stringContaining(ASK.reason) })
  expect(first.approval).toEqual({ id: expect.any(String), expiresAt: '2023-11-14T22:28:20.000Z' })
  expect((await call()).approval).toEqual(first.approval)
  expect((await call({ arguments: { text: 'ho' } })).approval?.id).not.toBe(first.approval?.id)
  expect((await call({ name: 'SHOUT' })).approval?.id).not.toBe(first.approval?.id)
  expect((await call({}, 'bob')).approval?.id).not.toBe(first.approval?.id)
  expect(announced.map(({ uid, tool: name }) => `${uid} ${name}`)).toEqual([
    'ann ECHO',
    'ann ECHO',
    'ann SHOUT',
    'bob ECHO',
  ])
  expect(ran).toEqual([])
})

test('the order of keys is no difference, and a call that is still pending waits with the same id', async () => {
  const { call, state, ran } = service()
  state.tools = [withParameters(tool('ECHO'), { type: 'object' })]
  const first = await call({ arguments: { a: 1, b: [2] } })
  expect((await call({ arguments: { b: [2], a: 1 } })).approval).toEqual(first.approval)
  const again = await call({ arguments: { a: 1, b: [2] }, approval: first.approval?.id })
  expect(again).toMatchObject({ code: 'APPROVAL_REQUIRED', approval: first.approval })
  expect(ran).toEqual([])
})

test('an approved call runs once', async () => {
  const { call, approved, ran } = service()
  const id = await approved()
  expect((await call({ approval: id })).code).toBe('ok')
  expect(await call({ approval: id })).toMatchObject({
    code: 'APPROVAL_CONFLICT',
    text: expect.stringContaining('was used'),
  })
  expect(ran).toEqual([{ text: 'hi' }])
})

test('an approval that was used says so first, whatever the next call with it is', async () => {
  const { call, approved } = service()
  const id = await approved()
  await call({ approval: id })
  for (const request of [{}, { arguments: { text: 'ho' } }, { name: 'SHOUT' }])
    expect(await call({ ...request, approval: id })).toMatchObject({
      code: 'APPROVAL_CONFLICT',
      text: expect.stringContaining('The approval was used by another call; nothing was run.'),
    })
})

test('of 20 calls at once with one approval, one runs', async () => {
  const { call, approved, ran } = service()
  const id = await approved()
  const codes = (await Promise.all(Array.from({ length: 20 }, () => call({ approval: id })))).map(
    ({ code }) => code,
  )
  expect(codes.toSorted()).toEqual([...Array<string>(19).fill('APPROVAL_CONFLICT'), 'ok'])
  expect(ran).toHaveLength(1)
})

test('an approval of another user, an unknown and a cancelled one are the same: none', async () => {
  const { call, approved, approvals, ran } = service()
  const id = await approved()
  const others = [await call({ approval: id }, 'bob'), await call({ approval: crypto.randomUUID() })]
  await approvals.remove('ann', id)
  others.push(await call({ approval: id }))
  for (const other of others) expect(other).toEqual({ ...others[0], code: 'APPROVAL_NOT_FOUND' })
  expect(ran).toEqual([])
})

test('an approval is for its tool, its arguments and its definition only', async () => {
  const { call, approved, state, ran } = service()
  const id = await approved()
  const refused = [
    await call({ approval: id, arguments: { text: 'ho' } }),
    await call({ approval: id, name: 'SHOUT' }),
  ]
  state.tools = [echo('Says something else.')]
  refused.push(await call({ approval: id }))
  expect(refused.map(({ code }) => code)).toEqual(Array(3).fill('APPROVAL_CONFLICT'))
  expect(refused.map(({ text }) => text)).toEqual([
    expect.stringContaining('other arguments'),
    expect.stringContaining('for the tool ECHO'),
    expect.stringContaining('has changed'),
  ])
  expect(ran).toEqual([])
})

test('the approval of a call of one workflow is not for the calls of another', async () => {
  const { call, approvals, ran } = service()
  const first = (await call({}, 'ann', 'backup')).approval?.id ?? ''
  const other = (await call({}, 'ann', 'mailer')).approval?.id
  expect(other).not.toBe(first)
  expect((await call()).approval?.id).not.toBe(first)
  expect((await call({}, 'ann', 'backup')).approval?.id).toBe(first)
  await approvals.decide('ann', first, { decision: 'once' })
  expect(await call({ approval: first }, 'ann', 'mailer')).toMatchObject({
    code: 'APPROVAL_CONFLICT',
    text: expect.stringContaining('another workflow'),
  })
  expect(ran).toEqual([])
  // The token of the job may have ended, so its user may make the call.
  expect(await call({ approval: first })).toMatchObject({ code: 'ok' })
})

test('a denied call does not run', async () => {
  const { call, approvals, ran } = service()
  const id = (await call()).approval?.id ?? ''
  await approvals.decide('ann', id, { decision: 'deny' })
  expect((await call({ approval: id })).code).toBe('APPROVAL_DENIED')
  expect((await call()).approval?.id).not.toBe(id)
  expect(ran).toEqual([])
})

test('a question and its answer each hold for 15 minutes', async () => {
  const { call, approvals, approved, state, ran } = service()
  const late = (await call({ arguments: { text: 'late' } })).approval?.id ?? ''
  const id = await approved()
  state.nowMs += APPROVAL_MS - 1
  expect((await call({ arguments: { text: 'late' }, approval: late })).code).toBe('APPROVAL_REQUIRED')
  expect((await call({ approval: id })).code).toBe('ok')
  const other = await approved({ arguments: { text: 'other' } })
  state.nowMs += APPROVAL_MS
  expect((await call({ arguments: { text: 'late' }, approval: late })).code).toBe('APPROVAL_EXPIRED')
  expect((await call({ arguments: { text: 'other' }, approval: other })).code).toBe('APPROVAL_EXPIRED')
  await expect(approvals.decide('ann', late, { decision: 'once' })).rejects.toMatchObject({
    code: 'APPROVAL_EXPIRED',
  })
  expect((await call({ arguments: { text: 'late' } })).approval?.id).not.toBe(late)
  expect(ran).toEqual([{ text: 'hi' }])
})

test.each([
  ['ahead', HOUR],
  ['back', -HOUR],
])(
  'a clock that is set an hour %s ends approvals, and never makes one valid for longer or twice',
  async (_way, ms) => {
    const { call, approved, state, ran } = service()
    const [used, unused] = [await approved(), await approved({ arguments: { text: 'ho' } })]
    await call({ approval: used })
    state.nowMs += ms
    expect((await call({ approval: used })).code).toBe('APPROVAL_CONFLICT')
    expect((await call({ arguments: { text: 'ho' }, approval: unused })).code).toBe('APPROVAL_EXPIRED')
    expect(ran).toHaveLength(1)
  },
)

test('a rule that denies since then wins, and the approval is not used up by the refusal', async () => {
  const { call, approved, state, ran } = service()
  const id = await approved()
  state.decide = () => ({ ...ASK, effect: 'deny', reason: 'Rule 1 says deny.' })
  expect(await call({ approval: id })).toMatchObject({ code: 'PERMISSION_DENIED', text: 'Rule 1 says deny.' })
  state.decide = () => ASK
  expect((await call({ approval: id })).code).toBe('ok')
  expect(ran).toHaveLength(1)
})

test('edited arguments are what runs, for the call as it was sent', async () => {
  const { call, approvals, ran } = service()
  const id = (await call()).approval?.id ?? ''
  await approvals.decide('ann', id, { decision: 'once', arguments: { text: 'edited' } })
  expect((await call({ approval: id, arguments: { text: 'edited' } })).code).toBe('APPROVAL_CONFLICT')
  expect(await call({ approval: id })).toMatchObject({ code: 'ok', text: 'edited' })
  expect((await call({ approval: id })).code).toBe('APPROVAL_CONFLICT')
  expect(ran).toEqual([{ text: 'edited' }])
})

test('edited arguments count as arguments of the approvals: those that have ended make room, then nothing is decided', async () => {
  const { call, approvals, approved } = service()
  const used = await approved({ arguments: { text: 'x'.repeat(200_000) } })
  await call({ arguments: { text: 'x'.repeat(200_000) }, approval: used })
  const large = { text: 'y'.repeat(200_000) }
  const decide = (id: string) => approvals.decide('ann', id, { decision: 'once', arguments: large })
  // 41 times 200,000 bytes are the last that fit into 8 MB.
  const ids: string[] = []
  for (let at = 0; at < 42; at += 1)
    ids.push((await call({ arguments: { text: `${at}` } })).approval?.id ?? '')
  const last = ids.pop() ?? ''
  for (const id of ids) await decide(id)
  expect((await approvals.list('ann')).map(({ id }) => id)).not.toContain(used)
  await expect(decide(last)).rejects.toMatchObject({
    code: 'SERVICE_BUSY',
    message: expect.stringContaining('so nothing was decided'),
  })
  expect((await approvals.list('ann')).find(({ id }) => id === last)).toMatchObject({ state: 'pending' })
  await approvals.remove('ann', ids[0] ?? '')
  expect(await decide(last)).toMatchObject({ state: 'approved', isEdited: true })
})

test('edited arguments that are invalid or denied do not run', async () => {
  const { call, approvals, state, ran } = service()
  state.decide = ({ text }) => (text === 'bad' ? { ...ASK, effect: 'deny' } : ASK)
  for (const [edited, expected] of [
    [{ text: 1 }, 'ARGUMENTS_INVALID'],
    [{}, 'ARGUMENTS_INVALID'],
    [{ text: 'bad' }, 'PERMISSION_DENIED'],
  ] as const) {
    const args = { text: `for ${JSON.stringify(edited)}` }
    const id = (await call({ arguments: args })).approval?.id ?? ''
    await approvals.decide('ann', id, { decision: 'once', arguments: edited })
    expect((await call({ arguments: args, approval: id })).code).toBe(expected)
  }
  expect(ran).toEqual([])
})

test('always answers the rule for the tool and its definition, with any arguments, until it is forgotten', async () => {
  const { call, approvals, state, ran } = service()
  const id = (await call()).approval?.id ?? ''
  await approvals.decide('ann', id, { decision: 'always' })
  state.nowMs += 100 * HOUR
  expect((await call({ approval: id })).code).toBe('ok')
  expect((await call({ arguments: { text: 'ho' } })).code).toBe('ok')
  expect((await call({}, 'bob')).code).toBe('APPROVAL_REQUIRED')
  expect((await call({ name: 'SHOUT' })).code).toBe('APPROVAL_REQUIRED')
  state.decide = () => ({ ...ASK, rule: 1 })
  expect((await call()).code).toBe('APPROVAL_REQUIRED')
  state.decide = () => ({ ...ASK, effect: 'deny' })
  expect((await call()).code).toBe('PERMISSION_DENIED')
  state.decide = () => ASK
  state.tools = [echo('Changed.')]
  expect((await call()).code).toBe('APPROVAL_REQUIRED')
  state.tools = [echo()]
  await approvals.remove('ann', id)
  expect((await call({ arguments: { text: 'ho' } })).code).toBe('APPROVAL_REQUIRED')
  expect(ran).toHaveLength(2)
})

test('an always whose definition was changed there and back has ended, also by its id, and a newer one takes its place', async () => {
  const { call, approvals, state, ran } = service()
  const id = (await call()).approval?.id ?? ''
  await approvals.decide('ann', id, { decision: 'always' })
  state.revision = '2'
  expect(await call({ approval: id })).toMatchObject({
    code: 'APPROVAL_CONFLICT',
    text: expect.stringContaining('the definition of the tool was changed'),
  })
  state.nowMs += 1
  const newer = (await call()).approval?.id ?? ''
  expect(newer).not.toBe(id)
  await approvals.decide('ann', newer, { decision: 'always' })
  expect((await call()).code).toBe('ok')
  expect((await approvals.list('ann')).map((one) => one.id)).toEqual([newer])
  expect(ran).toHaveLength(1)
})

test('an older question that is answered for always does not end the answer to a newer one', async () => {
  const { call, approvals, state } = service()
  const older = (await call()).approval?.id ?? ''
  state.revision = '2'
  state.nowMs += 1
  const newer = (await call()).approval?.id ?? ''
  await approvals.decide('ann', newer, { decision: 'always' })
  await approvals.decide('ann', older, { decision: 'always' })
  expect((await call()).code).toBe('ok')
})

test('while a layer is lost a call can be approved once, but not answered for always', async () => {
  const { call, approvals, state } = service()
  state.isLost = true
  const id = (await call()).approval?.id ?? ''
  expect((await call()).approval?.id).toBe(id)
  for (const decision of ['always', 'session'] as const)
    await expect(approvals.decide('ann', id, { decision })).rejects.toMatchObject({
      code: 'APPROVAL_CONFLICT',
    })
  await approvals.decide('ann', id, { decision: 'once' })
  expect((await call({ approval: id })).code).toBe('ok')
})

const longText = (at: number): string => `${at}${'x'.repeat(250_000)}`

test('arguments that are erased take no room any more', async () => {
  const { call, approvals, state } = service()
  // 33 times 250,000 bytes are the last that fit into 8 MB.
  for (let at = 0; at < 33; at += 1) {
    const id = (await call({ arguments: { text: longText(at) } })).approval?.id ?? ''
    state.decide = () => ({ ...ASK, rule: at + 1 })
    await approvals.decide('ann', id, { decision: 'always' })
  }
  expect((await call({ arguments: { text: longText(33) } })).code).toBe('SERVICE_BUSY')
  state.nowMs += ARGUMENTS_KEPT_MS
  expect((await call({ arguments: { text: longText(33) } })).code).toBe('APPROVAL_REQUIRED')
})

test('the id of an approval that answers a rule for always lifts no other rule that asks', async () => {
  const { call, approvals, state, ran } = service()
  const id = (await call()).approval?.id ?? ''
  await approvals.decide('ann', id, { decision: 'always' })
  state.decide = () => ({ ...ASK, rule: 1 })
  expect(await call({ approval: id })).toMatchObject({
    code: 'APPROVAL_CONFLICT',
    text: expect.stringContaining('another rule asks'),
  })
  expect(ran).toEqual([])
  state.decide = () => ({ ...ASK, effect: 'allow' })
  expect((await call({ approval: id })).code).toBe('ok')
})

test('an approval whose call was certainly not run can be used again, and one whose tool may have run can not', async () => {
  const { call, approved, state } = service()
  const id = await approved()
  for (const [code, after] of [
    ['RUNNER_BUSY', 'RUNNER_UNAVAILABLE'],
    ['RUNNER_UNAVAILABLE', 'AUDIT_UNAVAILABLE'],
    ['AUDIT_UNAVAILABLE', 'CANCELLED'],
    ['CANCELLED', 'WORKER_DIED'],
    ['WORKER_DIED', 'APPROVAL_CONFLICT'],
  ] as const) {
    state.result = () => toolFailure(code, 'Failed.')
    expect((await call({ approval: id })).code).toBe(code)
    state.result = () => toolFailure('RUNNER_UNAVAILABLE', 'Failed.')
    if (after === 'APPROVAL_CONFLICT') expect((await call({ approval: id })).code).toBe(after)
  }
})

test('an approval whose call was cancelled while its tool ran is used up', async () => {
  const { call, approved, state } = service()
  const id = await approved()
  state.mayHaveRun = true
  state.result = () => toolFailure('CANCELLED', 'Gone.')
  expect((await call({ approval: id })).code).toBe('CANCELLED')
  expect((await call({ approval: id })).code).toBe('APPROVAL_CONFLICT')
})

test('a tool that runs at the client is not asked about, because the service does not run it', async () => {
  const { call, state } = service()
  state.tools = [tool('ECHO')]
  state.result = () => toolFailure('RUNS_AT_CLIENT', 'Client.')
  expect((await call()).code).toBe('RUNS_AT_CLIENT')
})

test('a call without rules asks nothing of the store', () => {
  const calls: string[] = []
  const approvals = new Proxy({} as Approvals, { get: (_target, name) => calls.push(String(name)) })
  const view = catalogView({ global: [echo()] })
  const entry = view.resolve('ECHO')
  if (!entry) throw new Error('ECHO is missing')
  const call = {
    request: { arguments: {} },
    entry,
    decision: { ...ASK, effect: 'allow' },
  } as unknown as Authorised
  const next = () => Promise.resolve(outcomeOf(call, toolResult('ran')))
  void awaitApproval({ approvals })(call, next)
  void takeEditedArguments({ approvals })(call, next)
  expect(calls).toEqual([])
})

test('the hash of arguments is that of their canonical JSON', () => {
  expect(argumentsHash({ b: 1, a: [true] })).toBe(argumentsHash({ a: [true], b: 1 }))
  expect(argumentsHash({ a: '1' })).not.toBe(argumentsHash({ a: 1 }))
})
