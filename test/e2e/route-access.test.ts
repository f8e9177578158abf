import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import type { ErrorBody, InvocationResult } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Approvals } from '../../functions/src/features/approvals/approvals.ts'
import { askingCall } from '../functions/features/approvals/store.contract.ts'
import { tool } from '../support/definition-changes.ts'
import { endedCall } from '../support/ended-call.ts'
import { inProcess } from '../support/in-process.ts'
import { memoryAudit } from '../support/memory-audit.ts'
import { featureStores } from '../support/feature-stores.ts'
import { memoryGovernance } from '../support/memory-governance.ts'
import { memoryInvocationLogs } from '../support/memory-invocation-logs.ts'
import { moduleOf } from '../support/modules.ts'
import { rawConnection } from '../support/raw-http.ts'
import { readingRunner } from '../support/reading-runner.ts'
import { ofEachRoute, ROUTE_CASES } from '../support/all-route-cases.ts'
import { annAlone, DENIED, type AccessRow, type Answers } from '../support/route-cases.ts'
import { TABLE } from '../support/route-table.ts'
import { NOW, signed } from '../support/signed-tokens.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from '../support/token-kinds.ts'

const SHARED = tool('shared')
const logs = memoryInvocationLogs(() => NOW)
const governance = memoryGovernance()
const service = await inProcess(
  deployedAccess(() => NOW),
  [SHARED],
  () => NOW,
  {
    runner: readingRunner(),
    logs,
    audit: memoryAudit({ now: () => NOW }),
    governance,
  },
)
afterAll(() => service[Symbol.asyncDispose]())

/** What there is before each request: a definition, a module and a call of Ann's, and what is everybody's. */
const HERS = tool('hers')
const OURS = tool('ours')
const NOTES = moduleOf('notes', 'write')
const COMMON = moduleOf('common', 'read')
const CALL = '11111111-1111-4111-8111-111111111111'
/** A call of a tool that her job token does not name. */
const OTHER_CALL = '22222222-2222-4222-8222-222222222222'
const HERS_GRANTED = { name: 'hers', digest: definitionDigest(HERS) }

const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` })

/** Who asks, and below which family their token is good. */
const KNOWN = {
  user: { family: 'workflows', headers: bearer(signed(FIREBASE, { sub: 'ann' })) },
  'another user': { family: 'workflows', headers: bearer(signed(FIREBASE, { sub: 'bob' })) },
  admin: { family: 'workflows', headers: bearer(signed(FIREBASE, { sub: 'root', toolrackAdmin: true })) },
  'job account': { family: 'jobs', headers: { ...bearer(signed(OIDC)), 'X-User-Id': 'ann' } },
  'job token': {
    family: 'jobs',
    headers: bearer(signed(JOB, { uid: 'ann', tools: [HERS_GRANTED], jti: '1' })),
  },
} as const
const UNKNOWN = {
  nobody: { family: undefined, headers: {} },
  'wrong token': { family: undefined, headers: bearer('wrong') },
} as const
const PRINCIPALS = { ...KNOWN, ...UNKNOWN }
type Who = keyof typeof PRINCIPALS
const WHO = Object.keys(PRINCIPALS) as Who[]

/** Rules that deny nothing that the tests call. */
const RULES = { rules: [{ effect: 'deny', tool: 'none', future: true }] }
const OTHER_RULES = { rules: [{ effect: 'deny', tool: 'nothing', future: true }] }

const EVERYBODY: Answers = ['200', '200', '200', '200', '200']
const NOT_BY_JOB_TOKEN: Answers = ['200', '200', '200', '200', DENIED]
const ADMIN_ALONE: Answers = [DENIED, DENIED, '200', DENIED, DENIED]
/** A job has no way to a route that is for users alone. */
const NO_DOOR = '401 TOKEN_INVALID'
const json = (value: unknown): string => JSON.stringify(value)
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const hiddenModule: Answers = [
  '404 MODULE_NOT_FOUND',
  '404 MODULE_NOT_FOUND',
  '200',
  '404 MODULE_NOT_FOUND',
  '404 MODULE_NOT_FOUND',
]

/** Approvals of Ann's: one that is pending, and one that is decided. */
const APPROVAL = { asked: '', decided: '' }
const NO_APPROVAL = '404 APPROVAL_NOT_FOUND'
const HERS_TO_READ: Answers = ['200', NO_APPROVAL, NO_APPROVAL, DENIED, DENIED]
const NO_SESSION = '404 SESSION_NOT_FOUND'
const HERS_TO_DECIDE: Answers = ['409 APPROVAL_CONFLICT', NO_APPROVAL, NO_APPROVAL, DENIED, DENIED]
const approvals = new Approvals({
  store: featureStores(governance, () => NOW).approvals,
  sealing: governance.sealing,
  now: () => NOW,
})
for (const name of ['asked', 'decided'] as const)
  APPROVAL[name] = (await approvals.ask(askingCall({ tool: 'hers', argumentsHash: name })))?.id ?? ''
await approvals.decide('ann', APPROVAL.decided, { decision: 'deny' })

const NO_AGENT = '404 AGENT_NOT_FOUND'

/** Every route has its row here, or in the cases of its feature; the test fails for one that has none. */
const ROWS: Readonly<Record<string, readonly AccessRow[]>> = {
  'GET /tools/list': [['', '', null, EVERYBODY]],
  'POST /tools/invoke': [
    [
      '',
      '',
      json({ name: 'hers' }),
      annAlone('409 RUNS_AT_CLIENT', '404 TOOL_NOT_FOUND', '409 RUNS_AT_CLIENT'),
    ],
    [
      '',
      '',
      json({ name: 'shared' }),
      ['409 RUNS_AT_CLIENT', '409 RUNS_AT_CLIENT', '409 RUNS_AT_CLIENT', '409 RUNS_AT_CLIENT', DENIED],
    ],
  ],
  'POST /tools/dispatch': [
    ['', '', json([{ type: 'tool_use', id: 'a', name: 'shared', input: {} }]), EVERYBODY],
  ],
  'POST /tools/dispatch/complete': [
    [
      '',
      '',
      json({
        format: 'anthropic',
        calls: [{ type: 'tool_use', id: 'a', name: 'shared', input: {} }],
        results: [{ index: 0, result: 'done' }],
      }),
      EVERYBODY,
    ],
  ],
  'GET /tools/invocations': [['', '', null, EVERYBODY]],
  'GET /tools/invocations/:id': [
    [CALL, '', null, annAlone('200', '404 INVOCATION_NOT_FOUND', '200')],
    [OTHER_CALL, '', null, annAlone('200', '404 INVOCATION_NOT_FOUND', '404 INVOCATION_NOT_FOUND')],
  ],
  'GET /tools/invocations/:id/log': [
    [CALL, '', null, annAlone('200', '404 INVOCATION_NOT_FOUND', '200')],
    [OTHER_CALL, '', null, annAlone('200', '404 INVOCATION_NOT_FOUND', '404 INVOCATION_NOT_FOUND')],
  ],
  'GET /tools/explain': [['', '?name=hers', null, EVERYBODY]],
  'GET /tools/changes': [['', '', null, EVERYBODY]],
  'POST /tools/wrap': [['', '', json({ targetTokens: 100, layers: [] }), EVERYBODY]],
  'GET /tools/defs': [
    ['', '', null, EVERYBODY],
    ['', '?layer=global', null, EVERYBODY],
    ['', '?layer=file', null, EVERYBODY],
  ],
  'POST /tools/defs': [
    ['', '', json([tool('made')]), NOT_BY_JOB_TOKEN],
    ['', '?layer=global', json([tool('made')]), ADMIN_ALONE],
  ],
  'GET /tools/defs/:name': [
    ['hers', '', null, annAlone('200', '404 TOOL_NOT_FOUND', '200')],
    ['ours', '?layer=global', null, ['200', '200', '200', '200', '404 TOOL_NOT_FOUND']],
    ['shared', '?layer=file', null, ['200', '200', '200', '200', '404 TOOL_NOT_FOUND']],
  ],
  'PUT /tools/defs/:name': [
    ['made', '', json({ description: 'Made.' }), ['201', '201', '201', '201', DENIED]],
    ['ours', '?layer=global', json({ description: 'Other.' }), ADMIN_ALONE],
  ],
  'DELETE /tools/defs/:name': [
    ['hers', '', null, annAlone('200', '404 TOOL_NOT_FOUND', DENIED)],
    ['ours', '?layer=global', null, ADMIN_ALONE],
  ],
  'GET /tools/defs/:name/versions': [
    ['hers', '', null, annAlone('200', '404 TOOL_NOT_FOUND', DENIED)],
    ['ours', '?layer=global', null, NOT_BY_JOB_TOKEN],
  ],
  'POST /tools/defs/:name/rollback': [
    ['hers', '', json({ digest: definitionDigest(HERS) }), annAlone('200', '404 TOOL_NOT_FOUND', DENIED)],
    ['ours', '?layer=global', json({ digest: definitionDigest(OURS) }), ADMIN_ALONE],
  ],
  'GET /tools/modules': [
    ['', '', null, EVERYBODY],
    ['', '?layer=global', null, EVERYBODY],
  ],
  'GET /tools/modules/:name': [
    ['notes', '', null, annAlone('200', '404 MODULE_NOT_FOUND', '404 MODULE_NOT_FOUND')],
    ['common', '?layer=global', null, hiddenModule],
  ],
  'PUT /tools/modules/:name': [
    ['made', '', moduleOf('made', 'it'), ['201', '201', '201', '201', DENIED]],
    ['common', '?layer=global', moduleOf('common', 'other'), ADMIN_ALONE],
  ],
  'DELETE /tools/modules/:name': [
    ['notes', '', null, annAlone('200', '404 MODULE_NOT_FOUND', DENIED)],
    ['common', '?layer=global', null, ADMIN_ALONE],
  ],
  'GET /tools/modules/:name/versions': [
    ['notes', '', null, annAlone('200', '404 MODULE_NOT_FOUND', '404 MODULE_NOT_FOUND')],
    ['common', '?layer=global', null, hiddenModule],
  ],
  'POST /tools/modules/:name/rollback': [
    ['notes', '', json({ sha256: sha256(NOTES) }), annAlone('200', '404 MODULE_NOT_FOUND', DENIED)],
    ['common', '?layer=global', json({ sha256: sha256(COMMON) }), ADMIN_ALONE],
  ],
  'GET /approvals': [['', '', null, ['200', '200', '200', DENIED, DENIED]]],
  'GET /approvals/:id': [[APPROVAL.asked, '', null, HERS_TO_READ]],
  'POST /approvals/:id': [[APPROVAL.decided, '', json({ decision: 'deny' }), HERS_TO_DECIDE]],
  'DELETE /approvals/:id': [[APPROVAL.decided, '', null, HERS_TO_DECIDE]],
  'POST /jobs/tokens': [
    [
      '',
      '',
      json({ workflowId: 'w', tools: [{ name: 'shared', digest: definitionDigest(SHARED) }] }),
      ['201', '201', '201', DENIED, DENIED],
    ],
  ],
  'GET /sessions': [['', '', null, NOT_BY_JOB_TOKEN]],
  'GET /sessions/:id': [['s', '', null, annAlone('200', NO_SESSION, DENIED)]],
  'PUT /sessions/:id': [
    ['s', '', json({ selection: 'none' }), ['200', '201', '201', '200', DENIED]],
    ['new', '', json({ selection: 'none' }), ['201', '201', '201', '201', DENIED]],
  ],
  'DELETE /sessions/:id': [['s', '', null, annAlone('204', NO_SESSION, DENIED)]],
  'POST /sessions/:id/fork': [['s', '', json({ id: 'new' }), annAlone('201', NO_SESSION, DENIED)]],
  'POST /sessions/:id/messages': [['s', '', json({}), annAlone('200', NO_SESSION, DENIED)]],
  'GET /sessions/:id/tools': [['s', '', null, annAlone('200', NO_SESSION, '200')]],
  'GET /rules/:kind/:id': [
    ['user ann', '', null, ['200', DENIED, '200', DENIED, DENIED]],
    ['workflow w', '', null, ['200', '404 RULES_NOT_FOUND', '404 RULES_NOT_FOUND', DENIED, DENIED]],
    ['everybody all', '', null, [DENIED, DENIED, '200', DENIED, DENIED]],
  ],
  'GET /rules/:kind/:id/versions': [
    ['user ann', '', null, ['200', DENIED, '200', DENIED, DENIED]],
    ['workflow w', '', null, ['200', '404 RULES_NOT_FOUND', '404 RULES_NOT_FOUND', DENIED, DENIED]],
    ['everybody all', '', null, [DENIED, DENIED, '200', DENIED, DENIED]],
  ],
  'PUT /rules/:kind/:id': [
    ['user ann', '', json(OTHER_RULES), ['200', DENIED, '200', DENIED, DENIED]],
    ['session s', '', json(OTHER_RULES), ['201', '201', '201', DENIED, DENIED]],
    ['agent coder', '', json(OTHER_RULES), ['201', '201', '201', DENIED, DENIED]],
    ['workflow w', '', json(OTHER_RULES), ['200', '201', '201', DENIED, DENIED]],
    ['everybody all', '', json(OTHER_RULES), ADMIN_ALONE],
  ],
  'DELETE /rules/:kind/:id': [
    ['user ann', '', null, ['200', DENIED, '200', DENIED, DENIED]],
    ['workflow w', '', null, ['200', '404 RULES_NOT_FOUND', '404 RULES_NOT_FOUND', DENIED, DENIED]],
    ['everybody all', '', null, ADMIN_ALONE],
  ],
  ...ofEachRoute(({ access }) => access),
  'POST /permissions/simulate': [
    ['', '', json({ name: 'shared' }), ['200', '200', '200', DENIED, DENIED]],
    ['', '', json({ name: 'shared', as: { uid: 'ann' } }), ['200', DENIED, '200', DENIED, DENIED]],
  ],
  'GET /api/tools': [['', '', null, ['200', '200', '200', NO_DOOR, NO_DOOR]]],
  'POST /api/tools/refresh': [['', '', null, [DENIED, DENIED, '200', NO_DOOR, NO_DOOR]]],
  'GET /api/tools/:name': [
    ['hers', '', null, ['404 TOOL_NOT_FOUND', '404 TOOL_NOT_FOUND', '404 TOOL_NOT_FOUND', NO_DOOR, NO_DOOR]],
  ],
  'GET /audit': [
    ['', '', null, ['200', '200', '200', DENIED, DENIED]],
    ['', '?uid=ann', null, ['200', DENIED, '200', DENIED, DENIED]],
  ],
  'GET /tools/stats': [
    ['', '', null, NOT_BY_JOB_TOKEN],
    ['', '?uid=ann&name=hers', null, ['200', DENIED, '200', '200', DENIED]],
  ],
  'GET /metrics': [['', '', null, ADMIN_ALONE]],
  'GET /audit/verify': [['', '?day=2026-01-01', null, ADMIN_ALONE]],
  'DELETE /audit': [['', '?uid=nobody', null, ADMIN_ALONE]],
  // The errors of these routes have no code, only a text.
  'GET /agents': [['', '', null, EVERYBODY]],
  'POST /agents': [['', '', json({ name: 'Made' }), ['201', '201', '201', '201', DENIED]]],
  'GET /agents/:id': [
    ['hers', '', null, annAlone('200', NO_AGENT, '200')],
    ['default', '', null, EVERYBODY],
  ],
  'PATCH /agents/:id': [['hers', '', json({ description: 'Other.' }), annAlone('200', NO_AGENT, DENIED)]],
  'DELETE /agents/:id': [['hers', '', null, annAlone('200', NO_AGENT, DENIED)]],
  'GET /agents/:id/tools': [['hers', '', null, annAlone('200', NO_AGENT, '200')]],
  'POST /agents/:id/tools': [['hers', '', json({ tools: 'shared' }), annAlone('200', NO_AGENT, DENIED)]],
  'DELETE /agents/:id/tools': [['hers', '', json({ tools: 'shared' }), annAlone('200', NO_AGENT, DENIED)]],
  'PUT /agents/session/:sessionId': [['s', '', json({ agentId: 'hers' }), annAlone('200', NO_AGENT, DENIED)]],
  'GET /agents/session/:sessionId': [['linked', '', null, annAlone('200', NO_AGENT, '200')]],
  'DELETE /agents/session/:sessionId': [['linked', '', null, annAlone('200', NO_AGENT, DENIED)]],
  'GET /agents/session/:sessionId/tools': [['linked', '', null, annAlone('200', NO_AGENT, '200')]],
  'GET /health': [['', '', null, EVERYBODY]],
  'GET /': [['', '', null, EVERYBODY]],
}

/** The address with names for what it names, in their order. */
function named(address: string, names: string): string {
  const left = names.split(' ')
  return address.replaceAll(/:[a-z]+/gi, () => left.shift() ?? '')
}

/** Each request of a row at each address of its route, with what each principal is answered there. */
const REQUESTS = TABLE.flatMap(({ method, path, isPublic, isOriginal, addresses }) =>
  (ROWS[`${method} ${path}`] ?? []).flatMap(([names, query, body, answers]) =>
    addresses.map(({ address, family }) => {
      const expected = WHO.map((who) => {
        const known = (Object.keys(KNOWN) as Who[]).indexOf(who)
        const isAtTheirDoor = PRINCIPALS[who].family === family
        // A public route gives everybody the same answer.
        const coded = isPublic
          ? (answers[0] ?? '')
          : isAtTheirDoor
            ? (answers[known] ?? '')
            : '401 TOKEN_INVALID'
        return [who, isOriginal ? coded.replace(/ .*/, '') : coded] as const
      })
      return { method, address: named(address, names) + query, body, expected }
    }),
  ),
)

type Asked = {
  readonly who: Who
  readonly method: string
  readonly address: string
  readonly body?: string | null
}

function ask(
  { who, method, address, body = null }: Asked,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(service.url + address, {
    method,
    headers: { ...PRINCIPALS[who].headers, ...headers },
    body,
  })
}

/** Its status, and the code of an error. Errors of routes of the original service have no code. */
async function inShort(answer: Response): Promise<string> {
  if (answer.status < 400) return String(answer.status)
  const body = (await answer.json()) as ErrorBody | InvocationResult | Record<'error', string>
  if (!('meta' in body) && typeof body.error === 'string') return String(answer.status)
  const reason = 'meta' in body ? 'code' in body && body.code : (body as ErrorBody).error.details[0]?.reason
  return `${answer.status} ${String(reason)}`
}

beforeAll(async () => {
  const log = { workflow: 'nightly', text: 'printed' }
  await logs.keep('ann', endedCall({ invocationId: CALL, tool: 'hers', ...log }))
  await logs.keep('ann', endedCall({ invocationId: OTHER_CALL, tool: 'shared', ...log }))
})

/** A request that puts something back. It may be refused if there is nothing to delete, or if what it creates is there already. */
type PutsBack = readonly [who: Who, method: string, path: string, body?: string]

const OWNERS = ['user', 'another user', 'admin'] as const
const gone = (owners: readonly Who[], ...paths: readonly string[]): readonly PutsBack[] =>
  owners.flatMap((who) => paths.map((path) => [who, 'DELETE', path] as const))

/** What the requests below each path may have changed, and how it is put back. */
const PUT_BACK: Readonly<Record<string, readonly PutsBack[]>> = {
  '/tools/defs': [
    ...gone(OWNERS, '/tools/defs/made'),
    ...gone(['admin'], '/tools/defs/made?layer=global'),
    ['user', 'PUT', '/tools/defs/hers', json(HERS)],
    ['admin', 'PUT', '/tools/defs/ours?layer=global', json(OURS)],
  ],
  '/tools/modules': [
    ...gone(OWNERS, '/tools/modules/made'),
    ['user', 'PUT', '/tools/modules/notes', NOTES],
    ['admin', 'PUT', '/tools/modules/common?layer=global', COMMON],
  ],
  '/agents': [
    ...gone(OWNERS, '/agents/made'),
    ['user', 'POST', '/agents', json({ name: 'hers' })],
    ['user', 'PUT', '/agents/session/linked', json({ agentId: 'hers' })],
  ],
  '/sessions': [
    ...gone(OWNERS, '/sessions/s', '/sessions/new'),
    ['user', 'PUT', '/sessions/s', json({ selection: ['hers'] })],
  ],
  '/rules': [
    ...gone(OWNERS, '/rules/session/s', '/rules/agent/coder'),
    ...gone(['another user', 'admin'], '/rules/workflow/w'),
    ['user', 'PUT', '/rules/user/ann', json(RULES)],
    ['user', 'PUT', '/rules/workflow/w', json(RULES)],
    ['admin', 'PUT', '/rules/everybody/all', json(RULES)],
  ],
  ...Object.fromEntries(
    ROUTE_CASES.map(({ hers, readAt }) => [
      readAt,
      hers('secret').flatMap(([path, body]): PutsBack[] => [
        ...gone(['another user', 'admin'], path),
        ['user', 'PUT', path, body],
      ]),
    ]),
  ),
}

/** Below these paths are requests that are no `GET` and yet change nothing that must be put back. */
const CHANGES_NOTHING = [
  '/tools/dispatch',
  '/tools/wrap',
  '/jobs/tokens',
  '/permissions/simulate',
  '/api/tools/refresh',
  '/audit',
]

/** The paths below which everything must be put back before the next request. */
let changed = Object.keys(PUT_BACK)

/** The paths below which a request to this address may have changed something: all of them, unless it is known better. */
function changedBy(address: string): string[] {
  const isAt = (path: string): boolean => address.replace(/^\/(?:workflows|jobs)(?=\/)/, '').startsWith(path)
  if (CHANGES_NOTHING.some(isAt)) return []
  const paths = Object.keys(PUT_BACK)
  const known = paths.filter(isAt)
  return known.length > 0 ? known : paths
}

/** Puts everything back after a request that may have changed something. */
async function reset(): Promise<void> {
  for (const path of changed.splice(0)) {
    for (const [who, method, at, body = null] of PUT_BACK[path] ?? []) {
      const answer = await ask({ who, method, address: `/workflows${at}`, body })
      if (method === 'PUT') expect([at, answer.ok]).toEqual([at, true])
    }
  }
}

test('every route has a row of what each principal is answered, and every row has a route', () => {
  const routes = TABLE.map(({ method, path }) => `${method} ${path}`)
  expect(Object.keys(ROWS).toSorted()).toEqual(routes.toSorted())
  for (const rows of Object.values(ROWS)) expect(rows.length).toBeGreaterThan(0)
})

test.each(REQUESTS)('$method $address answers each principal as its row says', async (request) => {
  const { expected, ...asked } = request
  const told: (readonly [Who, string])[] = []
  for (const who of WHO) {
    await reset()
    const answer = await ask({ ...asked, who })
    // What a refused request changed all the same would stay, and change the answers to those after it.
    if (asked.method !== 'GET' && answer.ok) changed = changedBy(asked.address)
    told.push([who, await inShort(answer)])
  }
  expect(told).toEqual(expected)
})

test('who is not known is a 401 at every address, whatever is wrong with the request', async () => {
  const known = TABLE.filter(({ isPublic }) => !isPublic)
  const asked = known.flatMap(({ method, addresses }) =>
    addresses.map(({ address }) => ({ method, address })),
  )
  expect(asked.length).toBeGreaterThan(known.length)
  for (const { method, address } of asked) {
    for (const who of ['nobody', 'wrong token'] as const) {
      const body = method === 'PUT' || method === 'POST' ? '{broken' : null
      const answer = await ask({ who, method, address: `${address.replace(':name', 'hers')}?bogus=1`, body })
      await answer.arrayBuffer()
      expect([who, method, address, answer.status]).toEqual([who, method, address, 401])
    }
  }
})

test('the modules of a layer that somebody may not read are none', async () => {
  await reset()
  const address = '/tools/modules?layer=global'
  const names = async (who: keyof typeof KNOWN): Promise<unknown> =>
    (await ask({ who, method: 'GET', address: `/${KNOWN[who].family}${address}` })).json()
  expect(await names('admin')).toMatchObject({ layer: 'global', items: [{ name: 'common' }] })
  for (const who of ['user', 'another user', 'job account', 'job token'] as const)
    expect(await names(who)).toEqual({ layer: 'global', items: [] })
})

/** What is told first where several things are wrong with one request. */
test.each<[string, Who, string, string, Record<string, string>, string | null, string]>([
  ['an unknown parameter', 'job token', 'GET', '/tools/defs/hers/versions?bogus=1', {}, null, DENIED],
  ['an unknown parameter and no JSON', 'job account', 'POST', '/jobs/tokens?bogus=1', {}, '{', DENIED],
  ['an unknown parameter', 'user', 'POST', '/api/tools/refresh?bogus=1', {}, null, DENIED],
  ['no such layer', 'job token', 'PUT', '/tools/defs/a?layer=file', {}, '{}', '400 PARAMETER_INVALID'],
  ['an unknown parameter', 'user', 'POST', '/tools/defs?layer=global&a=1', {}, '[]', '400 PARAMETER_UNKNOWN'],
  [
    'a precondition that cannot be read',
    'user',
    'DELETE',
    '/tools/defs/ours?layer=global',
    { 'If-Match': 'x' },
    null,
    '400 HEADER_INVALID',
  ],
  [
    'a precondition of many',
    'job token',
    'POST',
    '/tools/defs',
    { 'If-Match': '*' },
    '[]',
    '400 HEADER_INVALID',
  ],
  ['a bad limit', 'job token', 'GET', '/tools/modules?limit=0', {}, null, '400 PARAMETER_INVALID'],
  ['a bad cursor', 'user', 'GET', '/tools/modules?layer=global&cursor=-', {}, null, '400 PARAMETER_INVALID'],
  ['no such layer', 'job token', 'GET', '/tools/modules/notes?layer=file', {}, null, '400 PARAMETER_INVALID'],
  ['no JSON', 'user', 'PUT', '/tools/defs/ours?layer=global', {}, '{', DENIED],
  ['an empty list', 'job token', 'POST', '/tools/defs', {}, '[]', DENIED],
  ['no choice', 'job token', 'POST', '/tools/defs/hers/rollback', {}, '{}', DENIED],
  ['a picture', 'job token', 'PUT', '/tools/modules/notes', { 'Content-Type': 'image/png' }, 'x', DENIED],
  ['no choice', 'user', 'POST', '/tools/modules/common/rollback?layer=global', {}, '{}', DENIED],
])(
  'with %s, %s is answered to %s %s in its order',
  async (_what, who, method, path, headers, body, expected) => {
    const family = PRINCIPALS[who].family ?? 'workflows'
    const address = path.startsWith('/api/') ? path : `/${family}${path}`
    expect(await inShort(await ask({ who, method, address, body }, headers))).toBe(expected)
  },
)

test('who may not write is refused before the body is read', async () => {
  const { socket, answer } = await unfinished()
  expect(answer).toMatch(/^HTTP\/1\.1 403 /)
  socket.destroy()
})

/** A write of the global layer by a user, of which nothing but the headers is ever sent. */
async function unfinished(): Promise<{ readonly socket: Socket; readonly answer: string }> {
  const socket = await rawConnection(service.url)
  const { Authorization } = KNOWN.user.headers
  socket.write(
    `PUT /workflows/tools/defs/ours?layer=global HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${Authorization}\r\nContent-Length: 100\r\n\r\n`,
  )
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return { socket, answer: chunk.toString() }
}
