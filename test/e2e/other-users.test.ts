import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { Approvals } from '../../functions/src/features/approvals/approvals.ts'
import { argumentsHash } from '../../functions/src/features/approvals/approval.ts'
import { FAMILIES } from '../../functions/src/http/route.ts'
import type { Family } from '../../functions/src/http/route.ts'
import { tool } from '../support/definition-changes.ts'
import { inProcess } from '../support/in-process.ts'
import { memoryAudit } from '../support/memory-audit.ts'
import { featureStores } from '../support/feature-stores.ts'
import { memoryGovernance } from '../support/memory-governance.ts'
import { endedCall } from '../support/ended-call.ts'
import { memoryInvocationLogs } from '../support/memory-invocation-logs.ts'
import { moduleOf } from '../support/modules.ts'
import { readingRunner } from '../support/reading-runner.ts'
import { ofEachRoute, ROUTE_CASES } from '../support/all-route-cases.ts'
import { FAMILY_ROUTES } from '../support/route-table.ts'
import { NOW, signed } from '../support/signed-tokens.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from '../support/token-kinds.ts'

const SHARED = tool('shared')
const logs = memoryInvocationLogs(() => NOW)
const governance = memoryGovernance()
const service = await inProcess(
  deployedAccess(() => NOW),
  [SHARED],
  () => NOW,
  { runner: readingRunner(), logs, governance, audit: memoryAudit({ now: () => NOW }) },
)
afterAll(() => service[Symbol.asyncDispose]())

/** What only Ann may ever read: in the text of her definition, and in its digest. */
const SECRET = 'ANN-KEEPS-THIS'
const HERS = tool('hers', SECRET)
const DIGEST = definitionDigest(HERS)
/** A module of hers, whose source nobody else may read. */
const MODULE = `${moduleOf('notes', 'hers')}# ${SECRET}\n`
const SHA256 = createHash('sha256').update(MODULE).digest('hex')

/** A call of hers, and what it printed. */
const INVOCATION = '11111111-1111-4111-8111-111111111111'

type Caller = { readonly family: Family; readonly headers: Readonly<Record<string, string>> }
const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` })
const userOf = (uid: string, more = {}): Caller => ({
  family: 'workflows',
  headers: bearer(signed(FIREBASE, { sub: uid, ...more })),
})
const accountFor = (uid: string): Caller => ({
  family: 'jobs',
  headers: { ...bearer(signed(OIDC)), 'X-User-Id': uid },
})
const jobOf = (uid: string, ...tools: readonly { name: string; digest: string }[]): Caller => ({
  family: 'jobs',
  headers: bearer(signed(JOB, { uid, tools, jti: uid })),
})

/** A job token of another user that names Ann's tool, and one that nobody has. */
const jobOfBob = jobOf('bob', { name: 'hers', digest: DIGEST }, { name: 'nobodys', digest: DIGEST })

const ANN = userOf('ann')
const OTHERS: readonly (readonly [string, Caller])[] = [
  ['another user', userOf('bob')],
  ['an admin', userOf('root', { toolrackAdmin: true })],
  [
    'a user who names Ann in X-User-Id',
    { ...userOf('bob'), headers: { ...userOf('bob').headers, 'X-User-Id': 'ann' } },
  ],
  ['a job of another user', accountFor('bob')],
  ["a job token of another user that names Ann's tool", jobOfBob],
  [
    'a job token of another user that sends X-User-Id',
    { ...jobOfBob, headers: { ...jobOfBob.headers, 'X-User-Id': 'ann' } },
  ],
]

function ask({ family, headers }: Caller, method: string, path: string, body?: string): Promise<Response> {
  return fetch(`${service.url}/${family}${path}`, { method, headers, body: body ?? null })
}

beforeAll(async () => {
  for (const description of ['an older one', SECRET]) {
    const body = JSON.stringify(tool('hers', `${SECRET} ${description}`))
    expect((await ask(ANN, 'PUT', '/tools/defs/hers', body)).ok).toBe(true)
  }
  expect((await ask(ANN, 'PUT', '/tools/defs/hers', JSON.stringify(HERS))).status).toBe(200)
  expect((await ask(ANN, 'PUT', '/tools/modules/notes', MODULE)).status).toBe(201)
  const agent = { name: 'hers', description: SECRET, workflowName: SECRET, tools: [SECRET] }
  expect((await ask(ANN, 'POST', '/agents', JSON.stringify(agent))).status).toBe(201)
  expect((await ask(ANN, 'PUT', '/agents/session/hers-session', '{"agentId":"hers"}')).status).toBe(200)
  const session = JSON.stringify({ selection: ['hers'], room: SECRET })
  expect((await ask(ANN, 'PUT', '/sessions/talk', session)).status).toBe(201)
  for (const [path, body] of ROUTE_CASES.flatMap(({ hers }) => hers(SECRET)))
    expect((await ask(ANN, 'PUT', path, body)).ok).toBe(true)
  const log = { tool: 'hers', revision: SECRET, workflow: 'nightly', text: SECRET }
  await logs.keep('ann', endedCall({ invocationId: INVOCATION, ...log }))
  approval = await waitingCall()
  unchanged = await hers()
})

/** The approval that a call of hers waits for. */
let approval = ''

/** What `hers` told when it was asked the last time. Only she herself may change it. */
let unchanged = ''

async function waitingCall(): Promise<string> {
  const { approvals: store } = featureStores(governance, () => NOW)
  const { sealing } = governance
  const approvals = new Approvals({ store, now: () => NOW, sealing })
  const rule = { owner: { kind: 'user', id: 'ann' }, rule: 0, reason: SECRET, key: 'k' } as const
  const args = { text: SECRET }
  const bound = { tool: 'hers', digest: DIGEST, mark: 'm', argumentsHash: argumentsHash(args) } as const
  const asked = await approvals.ask({ ...bound, uid: 'ann', arguments: args, asks: [rule], workflow: null })
  return asked?.id ?? ''
}

/** A request to each route that would reach Ann's definition if it reached anybody's; a new route must be added here, or to the cases of its feature. */
const REQUESTS: Readonly<Record<string, readonly (readonly [path: string, body?: string])[]>> = {
  'GET /tools/list': [
    ['/tools/list'],
    ['/tools/list?names=hers'],
    [`/tools/list?names=hers@${DIGEST}`],
    ['/tools/list?scope=ref:room/r7'],
  ],
  'POST /tools/invoke': [['/tools/invoke', '{"name":"hers"}']],
  'POST /tools/dispatch': [['/tools/dispatch', '[{"type":"tool_use","id":"a","name":"hers","input":{}}]']],
  'POST /tools/dispatch/complete': [
    [
      '/tools/dispatch/complete',
      '{"format":"anthropic","calls":[{"type":"tool_use","id":"a","name":"hers","input":{}}],"results":[{"index":0,"result":"x"}]}',
    ],
  ],
  'GET /tools/invocations': [['/tools/invocations'], ['/tools/invocations?tool=hers']],
  'GET /tools/invocations/:id': [[`/tools/invocations/${INVOCATION}`]],
  'GET /tools/invocations/:id/log': [
    [`/tools/invocations/${INVOCATION}/log`],
    [`/tools/invocations/..%2F..%2Fann%2F${INVOCATION}/log`],
  ],
  'GET /sessions': [['/sessions']],
  'GET /sessions/:id': [['/sessions/talk'], ['/sessions/..%2F..%2Fann%2Ftalk']],
  'GET /sessions/:id/tools': [['/sessions/talk/tools']],
  // Each user has ids of their own, so another id shows the same.
  'PUT /sessions/:id': [['/sessions/own', '{"selection":"none"}']],
  'DELETE /sessions/:id': [['/sessions/talk']],
  'POST /sessions/:id/fork': [['/sessions/talk/fork', '{"id":"fork"}']],
  'POST /sessions/:id/messages': [['/sessions/talk/messages', '{}']],
  'GET /approvals': [['/approvals'], ['/approvals?tool=hers']],
  'GET /approvals/:id': [['/approvals/APPROVAL']],
  'POST /approvals/:id': [['/approvals/APPROVAL', '{"decision":"once"}']],
  'DELETE /approvals/:id': [['/approvals/APPROVAL']],
  // An admin may write the rules of a user, so these are the caller's own.
  'GET /rules/:kind/:id': [['/rules/user/ann'], ['/rules/workflow/w']],
  'GET /rules/:kind/:id/versions': [['/rules/user/ann/versions'], ['/rules/workflow/w/versions']],
  'PUT /rules/:kind/:id': [['/rules/workflow/w', '{"default":"deny","rules":[]}']],
  'DELETE /rules/:kind/:id': [['/rules/workflow/w']],
  ...ofEachRoute(({ ofOthers }) => ofOthers),
  'POST /permissions/simulate': [['/permissions/simulate', '{"name":"hers","arguments":{}}']],
  'GET /agents': [['/agents'], ['/agents?limit=200&order=asc']],
  'POST /agents': [['/agents', '{"name":"Own"}']],
  'GET /agents/:id': [['/agents/hers'], ['/agents/..%2F..%2Fann%2Fagents%2Fhers']],
  'PATCH /agents/:id': [['/agents/hers', '{"description":"x"}']],
  'DELETE /agents/:id': [['/agents/hers']],
  'GET /agents/:id/tools': [['/agents/hers/tools']],
  'POST /agents/:id/tools': [['/agents/hers/tools', '{"tools":"x"}']],
  'DELETE /agents/:id/tools': [['/agents/hers/tools', '{"tools":"x"}']],
  'PUT /agents/session/:sessionId': [['/agents/session/her-session', '{"agentId":"hers"}']],
  'GET /agents/session/:sessionId': [['/agents/session/hers-session']],
  'DELETE /agents/session/:sessionId': [['/agents/session/hers-session']],
  'GET /agents/session/:sessionId/tools': [['/agents/session/hers-session/tools']],
  'GET /tools/explain': [['/tools/explain?name=hers']],
  'GET /tools/changes': [['/tools/changes']],
  'POST /tools/wrap': [['/tools/wrap', '{"targetTokens":4000,"layers":[]}']],
  'GET /tools/defs': [['/tools/defs'], ['/tools/defs?layer=global'], ['/tools/defs?limit=1&cursor=dXNlci9h']],
  'POST /tools/defs': [['/tools/defs', '[{"name":"own","description":"Own."}]']],
  'GET /tools/defs/:name': [
    ['/tools/defs/hers'],
    ['/tools/defs/..%2F..%2Fann%2Ftools%2Fdefs%2Fitems%2Fhers'],
  ],
  'PUT /tools/defs/:name': [['/tools/defs/own', '{"description":"Own."}']],
  'DELETE /tools/defs/:name': [['/tools/defs/hers']],
  'GET /tools/defs/:name/versions': [['/tools/defs/hers/versions']],
  'POST /tools/defs/:name/rollback': [['/tools/defs/hers/rollback', JSON.stringify({ digest: DIGEST })]],
  'GET /tools/modules': [['/tools/modules'], ['/tools/modules?layer=global']],
  'GET /tools/modules/:name': [['/tools/modules/notes'], ['/tools/modules/..%2F..%2Fann%2Fnotes']],
  'PUT /tools/modules/:name': [['/tools/modules/own', moduleOf('own', 'tool')]],
  'DELETE /tools/modules/:name': [['/tools/modules/notes']],
  'GET /tools/modules/:name/versions': [['/tools/modules/notes/versions']],
  'POST /tools/modules/:name/rollback': [
    ['/tools/modules/notes/rollback', JSON.stringify({ sha256: SHA256 })],
  ],
  'GET /audit': [['/audit?uid=bob']],
  'GET /tools/stats': [['/tools/stats'], ['/tools/stats?uid=ann&window=hour']],
  'GET /audit/verify': [['/audit/verify?day=2026-01-01']],
  'DELETE /audit': [['/audit?uid=bob']],
  'POST /jobs/tokens': [
    ['/jobs/tokens', JSON.stringify({ workflowId: 'w', tools: [{ name: 'hers', digest: DIGEST }] })],
  ],
}

async function hers(): Promise<string> {
  const paths = [
    '/tools/defs',
    '/tools/defs/hers/versions',
    '/tools/list?names=hers',
    '/tools/modules/notes',
    `/approvals/${approval}`,
    '/sessions/talk',
    '/agents',
    '/agents/session/hers-session',
    '/agents/session/hers-session/tools',
    ...ROUTE_CASES.map(({ readAt }) => readAt),
  ]
  return (await Promise.all(paths.map(async (path) => (await ask(ANN, 'GET', path)).text()))).join()
}

test("Ann's own requests show what is looked for", async () => {
  expect(await hers()).toContain(SECRET)
  for (const path of [
    '/tools/list',
    '/tools/defs',
    '/tools/defs/hers',
    '/tools/defs/hers/versions',
    '/tools/modules/notes',
    '/agents',
    '/agents/session/hers-session/tools',
    `/tools/invocations/${INVOCATION}/log`,
    `/approvals/${approval}`,
  ])
    expect(await (await ask(ANN, 'GET', path)).text()).toContain(SECRET)
  expect(await (await ask(ANN, 'GET', '/tools/explain?name=hers')).text()).toContain(DIGEST)
  for (const caller of [accountFor('ann'), jobOf('ann', { name: 'hers', digest: DIGEST })])
    expect(await (await ask(caller, 'GET', '/tools/list')).text()).toContain(SECRET)
})

test.each(FAMILY_ROUTES)("nobody else reaches Ann's layer by $method $path", async ({ method, path }) => {
  const requests = REQUESTS[`${method} ${path}`] ?? []
  expect(requests.length).toBeGreaterThan(0)
  for (const [who, caller] of OTHERS) {
    for (const family of FAMILIES) {
      for (const [at, body] of requests) {
        const answer = await ask({ ...caller, family }, method, at.replace('APPROVAL', approval), body)
        const told = JSON.stringify([...answer.headers]) + (await answer.text())
        const isHers = /hers|modules\/notes/.test(at + (body ?? ''))
        const request = `${who} at /${family}${at}: ${answer.status}`
        expect({
          request,
          isFault: answer.status >= 500,
          isRefused: !isHers || [200, 401, 403, 404].includes(answer.status),
          tells: [SECRET, DIGEST, SHA256].filter((text) => told.includes(text)),
        }).toEqual({ request, isFault: false, isRefused: true, tells: [] })
      }
    }
  }
  const before = unchanged
  unchanged = await hers()
  expect(unchanged).toBe(before)
})

test('a job token of hers reads the logs of the tools that it names, and of no other', async () => {
  const path = `/tools/invocations/${INVOCATION}/log`
  const named = await ask(jobOf('ann', { name: 'hers', digest: DIGEST }), 'GET', path)
  expect(await named.text()).toContain(SECRET)
  const other = jobOf('ann', { name: 'shared', digest: definitionDigest(SHARED) })
  const never = await ask(other, 'GET', `/tools/invocations/${INVOCATION.replace('1', '2')}/log`)
  const told = await ask(other, 'GET', path)
  expect([told.status, await told.text()]).toEqual([404, await never.text()])
})

test("Ann's module is for others, and for a job token of her own, one that there is none of", async () => {
  const callers = [...OTHERS.map(([, caller]) => caller), jobOf('ann', { name: 'hers', digest: DIGEST })]
  for (const caller of callers) {
    for (const path of ['', '/versions']) {
      const told = async (name: string): Promise<string> =>
        (await ask(caller, 'GET', `/tools/modules/${name}${path}`)).text()
      expect(await told('notes')).toBe(await told('nobodys'))
      expect(await told('notes')).toMatch(/MODULE_NOT_FOUND|TOKEN_INVALID/)
    }
  }
  expect(
    await (await ask(jobOf('ann', { name: 'hers', digest: DIGEST }), 'GET', '/tools/modules')).json(),
  ).toEqual({
    layer: 'user',
    items: [],
  })
  expect(await (await ask(accountFor('ann'), 'GET', '/tools/modules/notes')).text()).toContain(SECRET)
})

test('a name that only Ann has is for others a name that nobody has', async () => {
  for (const [, caller] of OTHERS) {
    const explain = async (name: string): Promise<string> =>
      (await ask(caller, 'GET', `/tools/explain?name=${name}`)).text()
    expect(await explain('hers')).toBe((await explain('nobodys')).replaceAll('nobodys', 'hers'))
  }
})

test('two users whose layers have the same revision share no list, also when a grant leaves nothing of either', async () => {
  const granted = { name: 'shared', digest: definitionDigest(SHARED) }
  expect(
    (await ask(userOf('cid'), 'PUT', '/tools/defs/shared', JSON.stringify(tool('shared', 'My own.')))).status,
  ).toBe(201)
  expect((await ask(userOf('dan'), 'PUT', '/tools/defs/other', JSON.stringify(tool('other')))).status).toBe(
    201,
  )
  const lists = await Promise.all(['cid', 'dan'].map((uid) => ask(jobOf(uid, granted), 'GET', '/tools/list')))
  const [revision, same] = lists.map(({ headers }) => headers.get('x-tools-revision'))
  expect(revision).toBe(same)
  const [none, one] = await Promise.all(lists.map((answer) => answer.text()))
  expect(none).toBe('[]')
  expect(one).toContain('"shared"')
})
