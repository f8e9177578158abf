import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { memoryAudit } from '../../support/memory-audit.ts'
import { routeService, type Answered } from '../../support/route-service.ts'
import { NOW } from '../../support/signed-tokens.ts'

function echo(name: string): ToolDefinition {
  const parameters = { type: 'object', properties: { text: { type: 'string' } } }
  return {
    type: 'function',
    function: { name, description: 'Echoes.', parameters },
    runner: { kind: 'builtin', builtin: 'echo' },
    annotations: { classes: ['read'] },
  } as unknown as ToolDefinition
}

const DAY_MS = 24 * 60 * 60 * 1_000
let nowMs = NOW
const ask = await routeService(['git:log', 'git:push', 'web:fetch'].map(echo), {
  audit: memoryAudit({ now: () => NOW }),
  now: () => nowMs,
})

let last = 0
async function sessionWith(more: object = {}): Promise<string> {
  const id = `g${(last += 1)}`
  expect((await ask('ann', `PUT /sessions/${id}`, { body: more })).status).toBe(201)
  return id
}

function call(id: string | undefined, name: string, more: object = {}, headers = {}): Promise<Answered> {
  const body = { name, arguments: { text: 'hi' }, ...more }
  return ask('ann', `POST /tools/invoke${id === undefined ? '' : `?session=${id}`}`, { body, headers })
}

async function listed(id?: string): Promise<readonly string[]> {
  const { body } = await ask('ann', `GET /tools/list${id === undefined ? '' : `?session=${id}`}`)
  return (body as unknown as readonly { function: { name: string } }[]).map((one) => one.function.name)
}

/** Runs `act` with these rules of Ann's, and deletes them. */
async function withRules(owner: string, rules: readonly object[], act: () => Promise<void>): Promise<void> {
  expect((await ask('ann', `PUT /rules/${owner}`, { body: { rules } })).status).toBe(201)
  try {
    await act()
  } finally {
    await ask('ann', `DELETE /rules/${owner}`)
  }
}

test('rules of a session bind its lists and calls, and those of its sub-agents, and no others', async () => {
  const parent = await sessionWith()
  const child = await sessionWith({ parent })
  const other = await sessionWith()
  await withRules(`session/${parent}`, [{ effect: 'deny', tool: 'git:push' }], async () => {
    for (const id of [parent, child]) {
      expect(await listed(id)).toEqual(['git:log', 'web:fetch'])
      const denied = await call(id, 'git:push')
      expect(denied.code).toBe('PERMISSION_DENIED')
      expect(denied.body['meta']).toMatchObject({ decision: { owner: { kind: 'session', id: parent } } })
    }
    for (const id of [other, undefined]) {
      expect(await listed(id)).toContain('git:push')
      expect((await call(id, 'git:push')).status).toBe(200)
    }
  })
  expect((await call(parent, 'git:push')).status).toBe(200)
})

test('rules of an agent bind every session of the agent, and the strictest of all owners wins', async () => {
  const [coder, writer] = [await sessionWith({ agent: 'coder' }), await sessionWith({ agent: 'writer' })]
  const sub = await sessionWith({ agent: 'writer', parent: coder })
  await withRules('agent/coder', [{ effect: 'deny', tool: 'git:*' }], async () => {
    await withRules(`session/${coder}`, [{ effect: 'allow', tool: 'git:*' }], async () => {
      for (const id of [coder, sub]) expect(await listed(id)).toEqual(['web:fetch'])
      expect(await listed(writer)).toHaveLength(3)
    })
  })
})

test('rules stay when their session is deleted and made again', async () => {
  const id = await sessionWith()
  await withRules(`session/${id}`, [{ effect: 'deny', tool: 'git:push' }], async () => {
    await ask('ann', `DELETE /sessions/${id}`)
    await ask('ann', `PUT /sessions/${id}`, { body: {} })
    expect((await call(id, 'git:push')).code).toBe('PERMISSION_DENIED')
  })
})

/** What a simulated call of Ann's is decided to be. */
async function simulated(as: object): Promise<unknown> {
  return (await ask('ann', 'POST /permissions/simulate', { body: { name: 'git:push', as } })).body['effect']
}

test('a simulation takes a session and an agent', async () => {
  await withRules('session/sim', [{ effect: 'deny', tool: 'git:push' }], async () => {
    await withRules('agent/coder', [{ effect: 'ask', tool: 'git:push' }], async () => {
      expect(await simulated({})).toBe('allow')
      expect(await simulated({ agent: 'coder' })).toBe('ask')
      const nowhere = { name: 'git:push', as: { session: 'sim' } }
      expect((await ask('ann', 'POST /permissions/simulate', { body: nowhere })).code).toBe(
        'SESSION_NOT_FOUND',
      )
      await ask('ann', 'PUT /sessions/sim', { body: {} })
      expect(await simulated({ session: 'sim', agent: 'coder' })).toBe('deny')
    })
  })
})

/** Calls, and decides the approval that the call waits for. */
async function decided(id: string, decision: string): Promise<{ approval: string; answer: Answered }> {
  const asked = await call(id, 'git:push')
  expect(asked.code).toBe('APPROVAL_REQUIRED')
  const { approval } = asked.body['meta'] as { approval: { id: string } }
  const answer = await ask('ann', `POST /approvals/${approval.id}`, { body: { decision } })
  return { approval: approval.id, answer }
}

test('an approval for the session answers its calls of the tool, and not those of another session', async () => {
  const [id, other] = [await sessionWith(), await sessionWith()]
  await withRules('user/ann', [{ effect: 'ask', tool: 'git:push' }], async () => {
    const { approval, answer } = await decided(id, 'session')
    expect(answer.body).toMatchObject({ status: 'session', session: id })
    expect((await call(id, 'git:push', { approval })).status).toBe(200)
    expect((await call(id, 'git:push', { arguments: { text: 'other' } })).status).toBe(200)
    expect((await call(other, 'git:push')).code).toBe('APPROVAL_REQUIRED')
    expect((await call(undefined, 'git:push')).code).toBe('APPROVAL_REQUIRED')
    expect((await call(other, 'git:push', { approval })).code).toBe('APPROVAL_CONFLICT')
    await withRules(`session/${id}`, [{ effect: 'deny', tool: 'git:push' }], async () => {
      expect((await call(id, 'git:push')).code).toBe('PERMISSION_DENIED')
    })
    await ask('ann', `DELETE /sessions/${id}`)
    expect((await ask('ann', `GET /approvals/${approval}`)).code).toBe('APPROVAL_NOT_FOUND')
    await ask('ann', `PUT /sessions/${id}`, { body: {} })
    expect((await call(id, 'git:push')).code).toBe('APPROVAL_REQUIRED')
  })
})

test('an approval for a session that has ended does not answer a new session with its id', async () => {
  const id = await sessionWith()
  await withRules('user/ann', [{ effect: 'ask', tool: 'git:push' }], async () => {
    await decided(id, 'session')
    nowMs += 29 * DAY_MS
    expect((await call(id, 'git:push')).status).toBe(200)
    nowMs += 2 * DAY_MS
    expect((await call(id, 'git:push')).code).toBe('APPROVAL_REQUIRED')
    nowMs += 31 * DAY_MS
    expect((await ask('ann', `PUT /sessions/${id}`, { body: {} })).status).toBe(201)
    expect((await call(id, 'git:push')).code).toBe('APPROVAL_REQUIRED')
    nowMs = NOW
  })
})

test('a call through no session cannot be answered for its session', async () => {
  await withRules('user/ann', [{ effect: 'ask', tool: 'git:log' }], async () => {
    const asked = await call(undefined, 'git:log')
    const { approval } = asked.body['meta'] as { approval: { id: string } }
    const refused = await ask('ann', `POST /approvals/${approval.id}`, { body: { decision: 'session' } })
    expect([refused.status, refused.code]).toEqual([409, 'APPROVAL_CONFLICT'])
  })
})

test('edited arguments are checked by the rules of the session', async () => {
  const id = await sessionWith()
  await withRules('user/ann', [{ effect: 'ask', tool: 'git:push' }], async () => {
    const rule = { effect: 'deny', tool: 'git:push', args: { text: 'force*' } }
    await withRules(`session/${id}`, [rule], async () => {
      const asked = await call(id, 'git:push')
      const { approval } = asked.body['meta'] as { approval: { id: string } }
      const edit = { decision: 'once', arguments: { text: 'force it' } }
      expect((await ask('ann', `POST /approvals/${approval.id}`, { body: edit })).code).toBe(
        'PERMISSION_DENIED',
      )
    })
  })
})

test('an idempotency key belongs to the session', async () => {
  const [id, other] = [await sessionWith(), await sessionWith()]
  const key = { 'Idempotency-Key': 'once' }
  expect((await call(id, 'git:log', {}, key)).headers.get('Idempotent-Replay')).toBeNull()
  expect((await call(id, 'git:log', {}, key)).headers.get('Idempotent-Replay')).toBe('true')
  for (const through of [other, undefined])
    expect((await call(through, 'git:log', {}, key)).code).toBe('IDEMPOTENCY_CONFLICT')
  await ask('ann', `PUT /sessions/${id}`, { body: { selection: 'none' } })
  expect((await call(id, 'git:log', {}, key)).code).toBe('NOT_SELECTED')
})

test('audit records of calls have the session and its agent, and writes of sessions are recorded', async () => {
  const id = await sessionWith({ agent: 'coder', selection: ['web:fetch'] })
  await call(id, 'web:fetch')
  await call(id, 'git:push')
  const { body } = await ask('ann', 'GET /audit?limit=3')
  expect(body['records']).toMatchObject([
    { kind: 'call', outcome: 'NOT_SELECTED', session: id, agent: 'coder' },
    { kind: 'call', outcome: 'ok', session: id, agent: 'coder', tool: 'web:fetch' },
    { kind: 'write', outcome: 'ok', subject: { route: 'PUT /sessions/:id', names: [id] } },
  ])
})
