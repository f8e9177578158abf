import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { APPROVAL_MS } from '../../../functions/src/features/approvals/approval.ts'
import { memoryAudit } from '../../support/memory-audit.ts'
import { routeService, type Answered, type Asker } from '../../support/route-service.ts'
import { NOW } from '../../support/signed-tokens.ts'

function tool(name: string, runner?: ToolDefinition['runner'], more: Partial<ToolDefinition> = {}) {
  const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  return {
    type: 'function',
    function: { name, description: 'Echoes.', parameters },
    ...(runner && { runner }),
    ...more,
  } as ToolDefinition
}

const ECHO = { kind: 'builtin', builtin: 'echo' } as const
const PYTHON = { kind: 'python', module: 'm', sha256: 'a'.repeat(64) } as const

let nowMs = NOW
const audit = memoryAudit({ now: () => NOW })
const ask = await routeService(
  [
    ...['git:log', 'git:push', 'web:fetch'].map((name) => tool(name, ECHO)),
    tool('client'),
    tool('strict', PYTHON, { limits: { minIsolation: 'L9' } }),
  ],
  { audit, now: () => nowMs },
)

type Call = { readonly name?: string; readonly text?: unknown; readonly approval?: string | undefined }

const bodyOf = ({ name = 'git:push', text = 'hi', approval }: Call = {}) => ({
  name,
  arguments: { text },
  ...(approval !== undefined && { approval }),
})
const at = (session?: string, more = '') =>
  `${session === undefined ? '' : `session=${session}`}${more && `&${more}`}`
const simulate = (who: Asker, call: Call = {}, as: object = {}, session?: string) =>
  ask(who, `POST /permissions/simulate?${at(session)}`, { body: { ...bodyOf(call), as } })
const dryRun = (who: Asker, call: Call = {}, session?: string) =>
  ask(who, `POST /tools/invoke?${at(session, 'dryRun=1')}`, { body: bodyOf(call) })
const invoke = (who: Asker, call: Call = {}, session?: string) =>
  ask(who, `POST /tools/invoke?${at(session)}`, { body: bodyOf(call) })

/** Runs `act` under these rules of Ann's. */
async function withRules(owner: string, rules: readonly object[], act: () => Promise<void>): Promise<void> {
  expect((await ask('ann', `PUT /rules/${owner}`, { body: { rules } })).status).toBeLessThan(300)
  try {
    await act()
  } finally {
    await ask('ann', `DELETE /rules/${owner}`)
    nowMs = NOW
  }
}

const ASK_PUSH = [{ effect: 'ask', tool: 'git:push' }]

let last = 0
async function session(more: object = {}): Promise<string> {
  const id = `s${(last += 1)}`
  expect((await ask('ann', `PUT /sessions/${id}`, { body: more })).status).toBe(201)
  return id
}

/** The id of the approval for which a call waits. */
async function asked(call: Call = {}, through?: string): Promise<string> {
  const answer = await invoke('ann', call, through)
  expect(answer.status).toBe(202)
  return (answer.body['meta'] as { approval: { id: string } }).approval.id
}
const decide = (id: string, body: object) => ask('ann', `POST /approvals/${id}`, { body })

const codeOf = ({ body }: Answered) => [body['effect'], body['code']]

test.each<[string, Call, string]>([
  ['wrong arguments', { text: 1 }, 'ARGUMENTS_INVALID'],
  ['a tool of the client', { name: 'client' }, 'RUNS_AT_CLIENT'],
  ['a level of isolation that does not exist', { name: 'strict' }, 'ISOLATION_UNAVAILABLE'],
])('%s: the rules allow the call, and the code is that of the call', async (_what, call, code) => {
  const { status, body } = await simulate('ann', call)
  const real = await invoke('ann', call)
  expect([status, body]).toMatchObject([200, { effect: 'allow', code, message: real.body['error'] }])
  expect(real.code).toBe(code)
})

test.each<[string, Call, string]>([
  ['no such tool', { name: 'none' }, '404 TOOL_NOT_FOUND'],
  ['no name', { name: 'a b' }, '404 TOOL_NOT_FOUND'],
])('%s: the simulation is refused as the call would be', async (_what, call, expected) => {
  for (const answer of [await simulate('ann', call), await invoke('ann', call)])
    expect(`${answer.status} ${answer.code}`).toBe(expected)
})

test('an alias means the tool that it means in a call', async () => {
  await withRules('user/ann', [{ effect: 'deny', tool: 'git:push' }], async () => {
    const { body } = await simulate('ann', { name: 'git__push' })
    expect(body).toMatchObject({ name: 'git:push', effect: 'deny', code: 'PERMISSION_DENIED', listed: false })
    expect((await invoke('ann', { name: 'git__push' })).body['error']).toBe(body['message'])
  })
})

test('a simulation goes through the session: its selection, its parents, and the rules of their agents', async () => {
  const parent = await session({ agent: 'coder', selection: ['git:log', 'git:push'] })
  const child = await session({ parent })
  for (const through of [parent, child]) {
    const left = await simulate('ann', { name: 'web:fetch' }, {}, through)
    expect([left.status, left.code]).toEqual([403, 'NOT_SELECTED'])
  }
  expect((await simulate('ann', {}, {}, 'nowhere')).code).toBe('SESSION_NOT_FOUND')
  await withRules(
    'agent/coder',
    [{ effect: 'deny', tool: 'git:push', args: { text: 'force*' } }],
    async () => {
      const forced = { text: 'force it' }
      for (const as of [{ session: child }, {}] as const) {
        const through = 'session' in as ? undefined : child
        const { body } = await simulate('ann', forced, as, through)
        expect(body).toMatchObject({ effect: 'deny', owner: { kind: 'agent', id: 'coder' }, listed: true })
      }
      expect(codeOf(await simulate('ann', forced))).toEqual(['allow', null])
      expect((await invoke('ann', forced, child)).code).toBe('PERMISSION_DENIED')
    },
  )
  expect((await simulate('ann', {}, { session: child }, child)).code).toBe('BODY_INVALID')
})

test('a simulation as a workflow is the call by its job token', async () => {
  await withRules('workflow/nightly', [{ effect: 'deny', tool: 'git:push' }], async () => {
    expect(codeOf(await simulate('ann', {}, { workflow: 'nightly' }))).toEqual(['deny', 'PERMISSION_DENIED'])
    expect(codeOf(await simulate('ann', {}, { workflow: 'daily' }))).toEqual(['allow', null])
    expect((await simulate('ann', { name: 'none' }, { workflow: 'daily' })).code).toBe('TOOL_NOT_FOUND')
  })
})

test('an admin simulates as strictly as the call of the other user would be decided', async () => {
  const through = await session({ agent: 'coder', selection: ['git:push'] })
  const ofAnn = { uid: 'ann', session: through }
  await withRules('agent/coder', ASK_PUSH, async () => {
    expect(codeOf(await simulate('admin', {}, ofAnn))).toEqual(['ask', 'APPROVAL_REQUIRED'])
    expect((await simulate('admin', { name: 'git:log' }, ofAnn)).code).toBe('NOT_SELECTED')
    const id = await asked({}, through)
    await decide(id, { decision: 'always' })
    expect((await simulate('admin', {}, ofAnn)).body).toMatchObject({
      effect: 'allow',
      approval: { id, status: 'always' },
      code: null,
    })
  })
  expect((await simulate('admin', {}, { session: through })).code).toBe('SESSION_NOT_FOUND')
})

test('an always is known to dry runs and simulations, which name it; a session answer only in its session', async () => {
  const through = await session()
  await withRules('user/ann', ASK_PUSH, async () => {
    expect((await dryRun('ann', {}, through)).body).toMatchObject({ decision: 'ask', rule: 0 })
    const id = await asked({}, through)
    await decide(id, { decision: 'session' })
    const owner = { kind: 'user', id: 'ann' }
    const reason = 'Rule 0 of the user ann says ask. It is answered for the session.'
    const known = { rule: 0, owner, reason, approval: { id, status: 'session' } }
    expect((await dryRun('ann', {}, through)).body).toMatchObject({ decision: 'allow', ...known })
    expect((await simulate('ann', {}, {}, through)).body).toMatchObject({
      effect: 'allow',
      code: null,
      ...known,
    })
    expect(codeOf(await simulate('ann'))).toEqual(['ask', 'APPROVAL_REQUIRED'])
    const forever = await asked()
    await decide(forever, { decision: 'always' })
    expect((await dryRun('ann', { text: 'other' })).body).toMatchObject({
      decision: 'allow',
      reason: 'Rule 0 of the user ann says ask. It is answered for always.',
      approval: { id: forever, status: 'always' },
    })
    expect((await invoke('ann', { text: 'other' })).status).toBe(200)
  })
})

test('another rule that asks is not answered by an always, and the dry run says so', async () => {
  await withRules('user/ann', ASK_PUSH, async () => {
    await decide(await asked(), { decision: 'always' })
    await withRules('session/s-none', ASK_PUSH, async () => {
      const through = 's-none'
      await ask('ann', `PUT /sessions/${through}`, { body: {} })
      expect((await dryRun('ann', {}, through)).body).toMatchObject({ decision: 'ask' })
      expect((await dryRun('ann')).body).toMatchObject({ decision: 'allow' })
      expect((await invoke('ann', {}, through)).code).toBe('APPROVAL_REQUIRED')
    })
  })
})

/** What a dry run says of a call, after a simulation has said the same. */
async function said(call: Call): Promise<readonly unknown[]> {
  const [dry, simulated] = [await dryRun('ann', call), await simulate('ann', call)]
  expect(simulated.body['code']).toBe(
    dry.code ?? (dry.body['decision'] === 'ask' ? 'APPROVAL_REQUIRED' : null),
  )
  expect(simulated.body['approval'] ?? undefined).toEqual(dry.body['approval'])
  return [dry.status, dry.code ?? dry.body['decision'], dry.body['approval']]
}

test('a named approval is what the call would find, and looking does not use it up', async () => {
  await withRules('user/ann', ASK_PUSH, async () => {
    const approval = await asked()
    expect(await said({ approval })).toEqual([200, 'ask', { id: approval, status: 'pending' }])
    await decide(approval, { decision: 'once' })
    for (let times = 0; times < 2; times += 1)
      expect(await said({ approval })).toEqual([200, 'allow', { id: approval, status: 'approved' }])
    expect(await said({ approval, text: 'other' })).toEqual([409, 'APPROVAL_CONFLICT', undefined])
    expect((await invoke('ann', { approval })).status).toBe(200)
    expect(await said({ approval })).toEqual([409, 'APPROVAL_CONFLICT', undefined])
    const denied = await asked()
    await decide(denied, { decision: 'deny' })
    expect(await said({ approval: denied })).toEqual([403, 'APPROVAL_DENIED', undefined])
    expect(await said({ approval: crypto.randomUUID() })).toEqual([404, 'APPROVAL_NOT_FOUND', undefined])
    const late = await asked()
    nowMs += APPROVAL_MS
    expect(await said({ approval: late })).toEqual([410, 'APPROVAL_EXPIRED', undefined])
  })
})

test('edited arguments of a named approval are what dry runs and simulations decide about', async () => {
  const rules = [...ASK_PUSH, { effect: 'deny', tool: 'git:push', args: { text: 'force*' } }]
  await withRules('user/ann', ASK_PUSH, async () => {
    const approval = await asked()
    await decide(approval, { decision: 'once', arguments: { text: 'force it' } })
    expect(codeOf(await simulate('ann', { approval }))).toEqual(['allow', null])
    await ask('ann', 'PUT /rules/user/ann', { body: { rules } })
    expect(codeOf(await simulate('ann', { approval }))).toEqual(['deny', 'PERMISSION_DENIED'])
    expect((await dryRun('ann', { approval })).code).toBe('PERMISSION_DENIED')
    expect((await invoke('ann', { approval })).code).toBe('PERMISSION_DENIED')
  })
})

test('a tool that the service cannot run is refused before anybody is asked about it', async () => {
  await withRules('user/ann', [{ effect: 'ask', tool: '*' }], async () => {
    for (const name of ['client', 'strict']) {
      const [real, dry] = [await invoke('ann', { name }), await dryRun('ann', { name })]
      expect(dry.code).toBe(real.code)
      expect(codeOf(await simulate('ann', { name }))).toEqual(['ask', real.code])
    }
    const { body } = await ask('ann', 'GET /approvals?status=pending')
    const waiting = (body['items'] as readonly { tool: string }[]).map((one) => one.tool)
    expect(waiting.filter((name) => ['client', 'strict'].includes(name))).toEqual([])
  })
})

async function calls(who: Asker): Promise<number> {
  return ((await ask(who, 'GET /tools/invocations')).body['items'] as object[]).length
}

test('a simulation is no call: it is not among the calls of its user, nor of the one for whom it was asked', async () => {
  const before = [await calls('ann'), await calls('bob'), await calls('admin')]
  await simulate('ann')
  await simulate('admin', {}, { uid: 'bob' })
  expect([await calls('ann'), await calls('bob'), await calls('admin')]).toEqual(before)
  const { texts } = await audit.page({ uid: 'bob', limit: 10 })
  expect(texts).toEqual([])
})

test.each<[string, object]>([
  ['an approval that is no text', { name: 'git:push', approval: 1 }],
  ['another field', { name: 'git:push', session: 's' }],
  ['no name', {}],
])('a body with %s is refused', async (_what, body) => {
  expect((await ask('ann', 'POST /permissions/simulate', { body })).code).toBe('BODY_INVALID')
})

test('a session that no session can have as its id is a wrong parameter', async () => {
  expect((await simulate('ann', {}, {}, '.')).code).toBe('PARAMETER_INVALID')
  expect((await ask('ann', 'POST /permissions/simulate?dryRun=1', { body: bodyOf() })).code).toBe(
    'PARAMETER_UNKNOWN',
  )
})
