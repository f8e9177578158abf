import { expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { faultyGovernance } from '../../../support/memory-governance.ts'
import { routeService, type Asker } from '../../../support/route-service.ts'
import { NOW } from '../../../support/signed-tokens.ts'

const audit = memoryAudit({ now: () => NOW })
const ask = await routeService([], { audit })
/** A service whose job token names one tool. */
const granted = await routeService([], {}, [{ name: 'mail:send', digest: `sha256:${'a'.repeat(64)}` }])

type Record = {
  readonly kind: string
  readonly outcome: string
  readonly subject: { readonly route: string; readonly names: readonly string[]; readonly agent?: string }
}

/** The outcome of a user's last write, its route, and what it was about. */
async function lastRecord(): Promise<readonly unknown[]> {
  const [text = ''] = (await audit.page({ uid: 'ann', limit: 1 })).texts
  const { kind, outcome, subject } = JSON.parse(text) as Record
  return [kind, outcome, subject.route, subject.names, subject.agent]
}

test('every write is in the audit trail, with its outcome and the agent that it is about', async () => {
  const wrote = async (who: Asker, request: string, body?: unknown): Promise<readonly unknown[]> => {
    const { status } = await ask(who, request, body === undefined ? {} : { body })
    return [status, ...(await lastRecord())]
  }
  const made = 'POST /agents'
  expect(await wrote('ann', made, { name: 'My Own' })).toEqual([201, 'write', 'ok', made, [], 'my-own'])
  expect(await wrote('ann', made, { name: 'My Own' })).toEqual([
    409,
    'write',
    'AGENT_CONFLICT',
    made,
    [],
    undefined,
  ])
  expect(await wrote('token', made, { name: 'B' })).toEqual([
    403,
    'write',
    'PERMISSION_DENIED',
    made,
    [],
    undefined,
  ])
  expect(await wrote('ann', 'PUT /agents/session/s', { agentId: 'my-own' })).toEqual([
    200,
    'write',
    'ok',
    'PUT /agents/session/:sessionId',
    ['s'],
    'my-own',
  ])
  for (const [request, body] of [
    ['PATCH /agents/my-own', { name: 'B' }],
    ['POST /agents/my-own/tools', { tools: 'A' }],
    ['DELETE /agents/my-own/tools', { tools: 'A' }],
    ['DELETE /agents/my-own', undefined],
  ] as const)
    expect(await wrote('ann', request, body)).toEqual([
      200,
      'write',
      'ok',
      request.replace('my-own', ':id'),
      ['my-own'],
      undefined,
    ])
  const before = await lastRecord()
  await ask('ann', 'GET /agents')
  expect(await lastRecord()).toEqual(before)
})

test.each([
  [{ nam: 'X' }, 'The body has no name; give the agent one.'],
  [{ name: 5 }, 'The body at /name: it must be a text.'],
])('the body %j is refused with a whole sentence', async (body, sentence) => {
  expect(await ask('ann', 'POST /agents', { body })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining(sentence) },
  })
})

test('a job account writes for its user, and a job token only reads the names that it has', async () => {
  const tools = ['X', 'READ_FILE', 'weather:get', 'mail__send', 'mail:send']
  const made = await ask('account', 'POST /agents', { body: { name: 'Of the job', tools } })
  expect([made.status, made.body['agent']]).toEqual([201, expect.objectContaining({ tools })])
  expect((await ask('ann', 'GET /agents/of-the-job/tools')).body).toEqual({ tools })
  await ask('ann', 'PUT /agents/session/of-job', { body: { agentId: 'of-the-job' } })
  const seen = ['mail__send', 'mail:send']
  const byToken = async (path: string) => (await granted('token', `GET ${path}`)).body
  await granted('ann', 'POST /agents', { body: { name: 'Of the job', tools } })
  await granted('ann', 'POST /agents', { body: { name: 'Others', tools: ['X'] } })
  await granted('ann', 'POST /agents', { body: { name: 'Toolless' } })
  await granted('ann', 'PUT /agents/session/of-job', { body: { agentId: 'of-the-job' } })
  expect(await byToken('/agents/of-the-job/tools')).toEqual({ tools: seen })
  expect(await byToken('/agents/session/of-job/tools')).toEqual({ tools: seen })
  expect(await byToken('/agents/of-the-job')).toMatchObject({ agent: { tools: seen } })
  expect(await byToken('/agents/others/tools')).toEqual({ tools: [] })
  const { agents: listed } = (await byToken('/agents')) as { agents: readonly { id: string }[] }
  expect(
    Object.fromEntries(listed.map(({ id, ...rest }) => [id, 'tools' in rest ? rest.tools : 'none'])),
  ).toEqual({
    'of-the-job': seen,
    others: [],
    toolless: 'none',
  })
  expect(JSON.stringify(await byToken('/agents'))).not.toMatch(/READ_FILE|weather/)
  expect((await ask('token', 'DELETE /agents/of-the-job')).body).toEqual({
    error: 'A job token can read agents, but never writes them.',
  })
  expect((await ask('bob', 'GET /agents/of-the-job')).status).toBe(404)
})

/** The error of every operation of the store. */
let fault: unknown
const asking = await routeService([], {
  governance: faultyGovernance((name) => (name === 'agents' ? fault : undefined)),
})

test.each<[string, unknown, number, RegExp, string | null]>([
  ['a store that cannot be reached', new ToolrackError('STORE_FAILED'), 503, /could not be reached/, '1'],
  ['a bug', new Error('at secret.ts:1'), 500, /^The service failed;.* Its id is [-0-9a-f]{36}\.$/, null],
])('with %s the error is a text too', async (_what, error, status, text, retryAfter) => {
  fault = error
  for (const [request, body] of [
    ['GET /agents', undefined],
    ['GET /agents/a/tools', undefined],
    ['POST /agents', { name: 'A' }],
  ] as const) {
    const answer = await asking('ann', request, body === undefined ? {} : { body })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter])
    expect(answer.body).toEqual({ error: expect.stringMatching(text) })
  }
})
