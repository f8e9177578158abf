import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { faultyGovernance, memoryGovernance } from '../../support/memory-governance.ts'
import { routeService, type Answered } from '../../support/route-service.ts'
import { until } from '../../support/until.ts'

function echo(name: string): ToolDefinition {
  const parameters = { type: 'object', properties: { text: { type: 'string' } } }
  return {
    type: 'function',
    function: { name, description: 'Echoes.', parameters },
    runner: { kind: 'builtin', builtin: 'echo' },
  }
}

const TOOLS = ['git:log', 'git:push'].map(echo)
const governance = memoryGovernance()
const state = { fault: undefined as Error | undefined, reads: 0 }
const counted = faultyGovernance((name, does) => {
  if (name !== 'linkedProjects' || does !== 'read') return undefined
  state.reads += 1
  return state.fault
}, governance)
// Two instances over the same data.
const ask = await routeService(TOOLS, { governance: counted })
const other = await routeService(TOOLS, { governance: { ...governance, close: () => Promise.resolve() } })

let last = 0
let id = ''
beforeEach(async () => {
  id = `s${(last += 1)}`
  await done(`PUT /sessions/${id}`, {})
  for (const agent of ['coder', 'writer']) await ask('ann', 'POST /agents', { body: { name: agent } })
})
afterEach(async () => {
  for (const agent of ['coder', 'writer']) await ask('ann', `DELETE /rules/agent/${agent}`)
})

async function done(request: string, body?: object, project?: string): Promise<Answered> {
  const headers = project === undefined ? {} : { 'X-Project-Id': project }
  const answer = await ask('ann', request, { ...(body && { body }), headers })
  expect([request, answer.status < 300]).toEqual([request, true])
  return answer
}

const rule = (agent: string, effect: string) =>
  done(`PUT /rules/agent/${agent}`, { rules: [{ effect, tool: 'git:push' }] })
const link = (agentId: string, project?: string, session = id) =>
  done(`PUT /agents/session/${session}`, { agentId }, project)
const unlink = (project?: string) => done(`DELETE /agents/session/${id}`, undefined, project)

async function listed(session: string, by = ask): Promise<readonly string[]> {
  const { body } = await by('ann', `GET /tools/list?session=${session}`)
  return (body as unknown as readonly { function: { name: string } }[]).map((one) => one.function.name)
}

const call = (session: string, by = ask) =>
  by('ann', `POST /tools/invoke?session=${session}`, {
    body: { name: 'git:push', arguments: { text: 'hi' } },
  })

/** What everything says of a call of `git:push` through a session: the call, its dry run, its simulation, the list and explain. */
async function said(session = id): Promise<readonly unknown[]> {
  const body = { name: 'git:push', arguments: { text: 'hi' } }
  const [real, dry, simulated, explained, names] = [
    await call(session),
    await ask('ann', `POST /tools/invoke?session=${session}&dryRun=1`, { body }),
    await ask('ann', `POST /permissions/simulate?session=${session}`, { body }),
    await ask('ann', `GET /tools/explain?name=git:push&session=${session}`),
    await listed(session),
  ]
  expect(dry.code ?? dry.body['decision']).toBe(
    real.status === 200 ? 'allow' : real.status === 202 ? 'ask' : real.code,
  )
  expect(simulated.body['code']).toBe(real.code ?? null)
  expect(explained.body['visible']).toBe(names.includes('git:push'))
  const { decision } = real.body['meta'] as { decision?: { owner: { id: string } } }
  return [real.status, decision?.owner.id, names.includes('git:push')]
}

test.each([undefined, 'p1'])(
  'a link in the project %s binds the session like an agent of its own',
  async (project) => {
    await rule('coder', 'deny')
    expect(await said()).toEqual([200, undefined, true])
    await link('coder', project)
    expect(await said()).toEqual([403, 'coder', false])
    await link('writer', project)
    expect(await said()).toEqual([200, undefined, true])
    await link('coder', project)
    await unlink(project)
    expect(await said()).toEqual([200, undefined, true])
  },
)

test('of links in several projects and of its own agent all bind, and the strictest wins', async () => {
  await done(`PUT /sessions/${id}`, { agent: 'writer' })
  await rule('writer', 'ask')
  expect(await said()).toEqual([202, 'writer', true])
  await rule('coder', 'deny')
  await link('writer')
  await link('coder', 'p2')
  expect(await said()).toEqual([403, 'coder', false])
  await unlink('p2')
  expect(await said()).toEqual([202, 'writer', true])
})

test('the link of a parent binds its sub-agents, and no other session', async () => {
  const child = `${id}-child`
  await done(`PUT /sessions/${child}`, { parent: id })
  await done(`PUT /sessions/${id}-other`, {})
  await rule('coder', 'deny')
  await link('coder')
  expect(await said(child)).toEqual([403, 'coder', false])
  expect(await said(`${id}-other`)).toEqual([200, undefined, true])
})

test('a link also binds what is chosen and locked for the session', async () => {
  await rule('coder', 'deny')
  await link('coder')
  const chosen = await ask('ann', `PUT /sessions/${id}`, { body: { selection: ['git:push'] } })
  expect(chosen.code).toBe('SELECTION_INVALID')
  const { body } = await done(`POST /sessions/${id}/messages`, {})
  expect(body['tools']).toMatchObject([{ name: 'git:log' }])
})

test('a link that was made before its session binds it, and an id without a session stays unknown', async () => {
  await rule('coder', 'deny')
  await link('coder', 'p1', 'later')
  expect((await call('later')).code).toBe('SESSION_NOT_FOUND')
  await done('PUT /sessions/later', {})
  expect((await call('later')).code).toBe('PERMISSION_DENIED')
})

test('another instance obeys a link a moment later', async () => {
  await rule('coder', 'deny')
  await until(
    () => call(id, other),
    ({ status }) => status === 200,
  )
  await link('coder')
  await until(
    () => call(id, other),
    ({ code }) => code === 'PERMISSION_DENIED',
  )
  expect(await listed(id, other)).toEqual(['git:log'])
})

test('links are not read as long as the user has no rules of an agent', async () => {
  await link('coder')
  const { reads } = state
  expect(await said()).toEqual([200, undefined, true])
  expect(state.reads).toBe(reads)
})

test('links that cannot be read refuse calls, and the list says that rules are missing', async () => {
  await rule('coder', 'deny')
  state.fault = new Error('away')
  try {
    expect(await call(id)).toMatchObject({ status: 503, code: 'STORE_FAILED' })
    const list = await ask('ann', `GET /tools/list?session=${id}`)
    expect([list.status, list.headers.get('X-Tools-Layers')]).toEqual([
      200,
      expect.stringContaining('rules=error'),
    ])
  } finally {
    state.fault = undefined
  }
  await until(
    () => call(id),
    ({ status }) => status === 200,
  )
})
