import { expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import type { FoundCall } from '../../../../functions/src/calls/invocation-logs.ts'
import { tool } from '../../../support/definition-changes.ts'
import { endedCall } from '../../../support/ended-call.ts'
import { memoryInvocationLogs } from '../../../support/memory-invocation-logs.ts'
import { routeService } from '../../../support/route-service.ts'
import type { Asker, RefusedRow } from '../../../support/route-service.ts'
import { NOW } from '../../../support/signed-tokens.ts'

const ECHO = { ...tool('ECHO'), runner: { kind: 'builtin', builtin: 'echo' } } as const
const logs = memoryInvocationLogs(() => NOW)
const ask = await routeService([ECHO, tool('CLIENT')], { logs }, [
  { name: 'ECHO', digest: definitionDigest(ECHO) },
])

const id = (digit: number): string => '11111111-1111-4111-8111-11111111111'.concat(String(digit))
const time = (minutes: number): string => new Date(NOW - 3_600_000 + minutes * 60_000).toISOString()
const failed = { outcome: 'failure', code: 'TOOL_RAISED' } as const
const mine = { workflow: 'nightly', text: 'printed' }
const [CALL, QUIET, NO_TOOL, NOT_NAMED, OTHER_FLOW, BOBS] = [1, 2, 3, 4, 5, 6].map(id)
await logs.keep('ann', endedCall({ invocationId: id(1), at: time(1), tool: 'ECHO', ...mine }))
await logs.keep('ann', endedCall({ invocationId: id(2), at: time(2), tool: 'ECHO', ...failed }))
const none = { tool: 'NONE', digest: null, outcome: 'failure', code: 'PERMISSION_DENIED' } as const
await logs.keep('ann', endedCall({ invocationId: id(3), at: time(3), workflow: 'nightly', ...none }))
await logs.keep('ann', endedCall({ invocationId: id(4), at: time(4), tool: 'CLIENT', ...mine }))
await logs.keep('ann', endedCall({ invocationId: id(5), at: time(5), tool: 'ECHO', workflow: 'weekly' }))
await logs.keep('bob', endedCall({ invocationId: id(6), at: time(6), tool: 'ECHO', text: 'of Bob' }))

async function found(who: Asker, query = ''): Promise<readonly string[]> {
  const { status, body } = await ask(who, `GET /tools/invocations${query}`)
  expect(status).toBe(200)
  return (body['items'] as readonly FoundCall[]).map(({ invocationId }) => invocationId)
}

test("a page has the caller's calls, newest first; with a job token those of its workflow and its tools", async () => {
  const all = [OTHER_FLOW, NOT_NAMED, NO_TOOL, QUIET, CALL]
  expect(await found('ann')).toEqual(all)
  expect(await found('account')).toEqual(all)
  expect(await found('token')).toEqual([NO_TOOL, CALL])
  expect(await found('bob')).toEqual([BOBS])
  expect(await found('admin')).toEqual([])
})

test.each([
  ['?tool=CLIENT', [NOT_NAMED]],
  ['?tool=NEVER', []],
  ['?outcome=failure', [NO_TOOL, QUIET]],
  ['?outcome=success&tool=ECHO', [OTHER_FLOW, CALL]],
  ['?outcome=TOOL_RAISED', [QUIET]],
  [`?since=${time(4)}`, [OTHER_FLOW, NOT_NAMED]],
  [`?since=${encodeURIComponent(time(4).replace('Z', '+00:00'))}`, [OTHER_FLOW, NOT_NAMED]],
  ['?limit=1000&since=1970-01-01T00:00:00Z', [OTHER_FLOW, NOT_NAMED, NO_TOOL, QUIET, CALL]],
])('%s lets these calls pass', async (query, expected) => {
  expect(await found('ann', query)).toEqual(expected)
})

/** The query of the next page. */
function nextOf(headers: Headers): string | undefined {
  return /^<\/workflows\/tools\/invocations(\?[^>]*)>; rel="next"$/.exec(headers.get('Link') ?? '')?.[1]
}

test('the Link of a page leads through all calls, and keeps the filters', async () => {
  const seen: string[] = []
  let query: string | undefined = '?limit=2&tool=ECHO'
  while (query !== undefined) {
    const { body, headers } = await ask('ann', `GET /tools/invocations${query}`)
    seen.push(...(body['items'] as readonly FoundCall[]).map(({ invocationId }) => invocationId))
    query = nextOf(headers)
  }
  expect(seen).toEqual([OTHER_FLOW, QUIET, CALL])
})

test("the cursor of another user leads to no call of that user's", async () => {
  const { headers } = await ask('ann', 'GET /tools/invocations?limit=2')
  expect(await found('bob', nextOf(headers))).toEqual([])
  const all = await ask('ann', 'GET /tools/invocations?limit=1')
  const older = await found('bob', nextOf(all.headers))
  expect(older.filter((each) => each !== BOBS)).toEqual([])
})

test('one call is answered with its facts, and what it printed has its own address', async () => {
  for (const who of ['ann', 'account', 'token'] as const) {
    const { status, body, headers } = await ask(who, `GET /tools/invocations/${CALL}`)
    expect(status).toBe(200)
    const { log, ...facts } = (await logs.find('ann', String(CALL))) ?? endedCall()
    expect(log).not.toBeNull()
    expect(body).toEqual({ ...facts, hasLog: true })
    expect(headers.get('Cache-Control')).toBe('private, no-store')
    const printed = await ask(who, `GET /tools/invocations/${CALL}/log`)
    expect(printed.body).toEqual({
      invocationId: CALL,
      tool: 'ECHO',
      at: time(1),
      text: 'printed',
      truncated: false,
    })
    expect(printed.headers.get('Cache-Control')).toBe('private, no-store')
  }
})

const PAGE = 'GET /tools/invocations'
const WRONG = '400 PARAMETER_INVALID'
const GONE = '404 INVOCATION_NOT_FOUND'
const NEVER = id(9)
const cursor = (text: string): string => Buffer.from(text).toString('base64url')

test.each<RefusedRow>([
  ['no valid token', 'nobody', PAGE, {}, '401 TOKEN_INVALID'],
  ['an unknown parameter', 'ann', `${PAGE}?user=bob`, {}, '400 PARAMETER_UNKNOWN'],
  ['an unknown outcome', 'ann', `${PAGE}?outcome=ok`, {}, WRONG],
  ['an outcome that every object has', 'ann', `${PAGE}?outcome=constructor`, {}, WRONG],
  ['two outcomes', 'ann', `${PAGE}?outcome=success&outcome=failure`, {}, WRONG],
  ['a name that no tool can have', 'ann', `${PAGE}?tool=a%20b`, {}, WRONG],
  ['no name', 'ann', `${PAGE}?tool=`, {}, WRONG],
  ['a time in the future', 'ann', `${PAGE}?since=${new Date(NOW + 1_000).toISOString()}`, {}, WRONG],
  ['a day', 'ann', `${PAGE}?since=2026-01-01`, {}, WRONG],
  ['a time without a zone', 'ann', `${PAGE}?since=2020-01-01T00:00:00`, {}, WRONG],
  ['a day that there is not', 'ann', `${PAGE}?since=2020-13-41T00:00:00Z`, {}, WRONG],
  ['a number', 'ann', `${PAGE}?since=1700000000`, {}, WRONG],
  ['no calls', 'ann', `${PAGE}?limit=0`, {}, WRONG],
  ['too many calls', 'ann', `${PAGE}?limit=1001`, {}, WRONG],
  ['no cursor', 'ann', `${PAGE}?cursor=`, {}, WRONG],
  ['an own cursor', 'ann', `${PAGE}?cursor=${cursor('x/y')}`, {}, WRONG],
  ['a path as cursor', 'ann', `${PAGE}?cursor=${cursor(`${time(1)}/../../bob`)}`, {}, WRONG],
  ["another user's call", 'bob', `GET /tools/invocations/${CALL}`, {}, GONE],
  ["another user's call, asked by an admin", 'admin', `GET /tools/invocations/${CALL}`, {}, GONE],
  ['a call that never was', 'ann', `GET /tools/invocations/${NEVER}`, {}, GONE],
  ['no id', 'ann', 'GET /tools/invocations/..%2F..%2Fbob', {}, GONE],
  ['a tool that the token does not name', 'token', `GET /tools/invocations/${NOT_NAMED}`, {}, GONE],
  ['a workflow that is not the token’s', 'token', `GET /tools/invocations/${OTHER_FLOW}`, {}, GONE],
  ['a call of the user', 'token', `GET /tools/invocations/${QUIET}`, {}, GONE],
  ['a parameter of a call', 'ann', `GET /tools/invocations/${CALL}?a=1`, {}, '400 PARAMETER_UNKNOWN'],
  ['a log without a valid token', 'nobody', `GET /tools/invocations/${CALL}/log`, {}, '401 TOKEN_INVALID'],
  ["another user's log", 'bob', `GET /tools/invocations/${CALL}/log`, {}, GONE],
  ['the log of a quiet call', 'ann', `GET /tools/invocations/${QUIET}/log`, {}, GONE],
  [
    'the log of a tool that the token does not name',
    'token',
    `GET /tools/invocations/${NOT_NAMED}/log`,
    {},
    GONE,
  ],
  ['the log of a call that never was', 'ann', `GET /tools/invocations/${NEVER}/log`, {}, GONE],
  ['the log of no id', 'ann', 'GET /tools/invocations/x/log', {}, GONE],
  ['the log of a path', 'ann', 'GET /tools/invocations/..%2f..%2fdefs/log', {}, GONE],
  ['the log of a long id', 'ann', `GET /tools/invocations/${'x'.repeat(300)}/log`, {}, GONE],
  ['a parameter of a log', 'ann', `GET /tools/invocations/${CALL}/log?a=1`, {}, '400 PARAMETER_UNKNOWN'],
])('%s, sent by %s as %s, is refused', async (_what, who, request, asked, expected) => {
  const { status, code } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
})

test('the answer to a foreign call is the answer to a call that never was', async () => {
  for (const path of ['', '/log']) {
    const foreign = await ask('bob', `GET /tools/invocations/${CALL}${path}`)
    const missing = await ask('bob', `GET /tools/invocations/${NEVER}${path}`)
    expect(foreign.body).toEqual(missing.body)
  }
})
