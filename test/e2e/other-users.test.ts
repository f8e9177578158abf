import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import { FAMILIES } from '../../functions/src/http/route.ts'
import type { Family } from '../../functions/src/http/route.ts'
import { ROUTES } from '../../functions/src/routes/routes.ts'
import { tool } from '../support/definition-changes.ts'
import { inProcess } from '../support/in-process.ts'
import { NOW, signed } from '../support/signed-tokens.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from '../support/token-kinds.ts'

const SHARED = tool('shared')
const service = await inProcess(
  deployedAccess(() => NOW),
  [SHARED],
  () => NOW,
)
afterAll(() => service[Symbol.asyncDispose]())

/** What only Ann may ever read: in the text of her definition, and in its digest. */
const SECRET = 'ANN-KEEPS-THIS'
const HERS = tool('hers', SECRET)
const DIGEST = definitionDigest(HERS)

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

const ANN = userOf('ann')
const OTHERS: readonly (readonly [string, Caller])[] = [
  ['another user', userOf('bob')],
  ['an admin', userOf('root', { toolrackAdmin: true })],
  [
    'a user who names Ann in X-User-Id',
    { ...userOf('bob'), headers: { ...userOf('bob').headers, 'X-User-Id': 'ann' } },
  ],
  ['a job of another user', accountFor('bob')],
  ["a job token of another user that names Ann's tool", jobOf('bob', { name: 'hers', digest: DIGEST })],
  [
    'a job token of another user that sends X-User-Id',
    {
      ...jobOf('bob', { name: 'hers', digest: DIGEST }),
      headers: { ...jobOf('bob', { name: 'hers', digest: DIGEST }).headers, 'X-User-Id': 'ann' },
    },
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
})

/** A request to each route that would reach Ann's definition if it reached anybody's; a new route must be added here. */
const REQUESTS: Readonly<Record<string, readonly (readonly [path: string, body?: string])[]>> = {
  'GET /tools/list': [['/tools/list'], ['/tools/list?names=hers'], [`/tools/list?names=hers@${DIGEST}`]],
  'GET /tools/explain': [['/tools/explain?name=hers']],
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
  'POST /jobs/tokens': [
    ['/jobs/tokens', JSON.stringify({ workflowId: 'w', tools: [{ name: 'hers', digest: DIGEST }] })],
  ],
}

const MATRIX = OTHERS.flatMap(([who, caller]) =>
  ROUTES.map(({ method, path }) => [who, method, path, caller] as const),
)

async function hers(): Promise<string> {
  const paths = ['/tools/defs', '/tools/defs/hers/versions', '/tools/list?names=hers']
  return (await Promise.all(paths.map(async (path) => (await ask(ANN, 'GET', path)).text()))).join()
}

test("Ann's own requests show what is looked for", async () => {
  expect(await hers()).toContain(SECRET)
  for (const path of ['/tools/list', '/tools/defs', '/tools/defs/hers', '/tools/defs/hers/versions'])
    expect(await (await ask(ANN, 'GET', path)).text()).toContain(SECRET)
  expect(await (await ask(ANN, 'GET', '/tools/explain?name=hers')).text()).toContain(DIGEST)
  for (const caller of [accountFor('ann'), jobOf('ann', { name: 'hers', digest: DIGEST })])
    expect(await (await ask(caller, 'GET', '/tools/list')).text()).toContain(SECRET)
})

test.each(MATRIX)("%s does not reach Ann's layer by %s %s", async (_who, method, path, caller) => {
  const requests = REQUESTS[`${method} ${path}`] ?? []
  expect(requests.length).toBeGreaterThan(0)
  const before = await hers()
  for (const family of FAMILIES) {
    for (const [at, body] of requests) {
      const answer = await ask({ ...caller, family }, method, at, body)
      const told = JSON.stringify([...answer.headers]) + (await answer.text())
      expect(answer.status).toBeLessThan(500)
      expect(told).not.toContain(SECRET)
      expect(told).not.toContain(DIGEST)
      if (/hers/.test(at + (body ?? ''))) expect([200, 401, 403, 404]).toContain(answer.status)
    }
  }
  expect(await hers()).toBe(before)
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
