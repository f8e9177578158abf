import { expect, test } from '@jest/globals'
import { definitionDigest, ToolrackError, type ToolDefinition } from '@toolrack/contract'
import type { ToolStatistics } from '../../../../functions/src/features/statistics/tool-statistics.ts'
import { tool } from '../../../support/definition-changes.ts'
import { faultyGovernance } from '../../../support/memory-governance.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { routeService, type Asker, type RefusedRow } from '../../../support/route-service.ts'
import { NOW } from '../../../support/signed-tokens.ts'

const PLAIN = tool('ECHO')
const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
const ECHO: ToolDefinition = {
  ...PLAIN,
  function: { ...PLAIN.function, parameters },
  runner: { kind: 'builtin', builtin: 'echo' },
}
const RAISES: ToolDefinition = {
  ...tool('notes:raise'),
  runner: { kind: 'python', module: 'notes', sha256: 'a'.repeat(64) },
}
const usage = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
const log = { text: '', truncated: false }
const runner = {
  ...readingRunner(),
  invoke: () => Promise.resolve({ code: 'TOOL_RAISED', error: 'No.', isolation: 'L2', usage, log } as const),
}
const state = { isDown: false }
const governance = faultyGovernance((collection) =>
  state.isDown && collection === 'statistics' ? new ToolrackError('STORE_FAILED') : undefined,
)
const ask = await routeService([ECHO, RAISES], { runner, governance }, [
  { name: 'ECHO', digest: definitionDigest(ECHO) },
])

const invoke = (who: Asker, name: string, args: object = { text: 'a' }, query = '', headers = {}) =>
  ask(who, `POST /tools/invoke${query}`, { body: { name, arguments: args }, headers })

const at = new Date(NOW).toISOString()
const HOUR_MS = 3_600_000
const hour = (before: number): string =>
  new Date((Math.floor(NOW / HOUR_MS) - before) * HOUR_MS).toISOString()

test('a user reads how often their tools were called and how well, and an admin what everybody has called', async () => {
  const key = { 'Idempotency-Key': 'k' }
  for (const _ of [1, 2]) await invoke('ann', 'ECHO', { text: 'a' }, '', key)
  await invoke('token', 'ECHO')
  await invoke('ann', 'ECHO', { text: 'a' }, '?dryRun=1')
  await invoke('ann', 'ECHO', { text: 1 })
  await invoke('ann', 'notes:raise')
  await invoke('bob', 'ECHO')
  const { status, body, headers } = await ask('ann', 'GET /tools/stats')
  expect([status, headers.get('cache-control')]).toEqual([200, 'private, no-store'])
  const listed = { lists: 0, definitionTokens: 0 }
  const tools = body['tools'] as readonly ToolStatistics[]
  expect({ ...body, tools: tools.map(({ circuit: _circuit, ...told }) => told) }).toEqual({
    window: 'day',
    from: hour(24),
    incompleteSince: null,
    tools: [
      {
        name: 'ECHO',
        calls: 2,
        refused: 1,
        successRate: 1,
        p50Ms: expect.any(Number),
        p95Ms: expect.any(Number),
        lastError: { code: 'ARGUMENTS_INVALID', at },
        lastUsed: at,
        ...listed,
      },
      {
        name: 'notes:raise',
        calls: 1,
        refused: 0,
        successRate: 0,
        p50Ms: expect.any(Number),
        p95Ms: expect.any(Number),
        lastError: { code: 'TOOL_RAISED', at },
        lastUsed: at,
        ...listed,
      },
    ],
  })
  const one = await ask('ann', 'GET /tools/stats?window=hour&name=notes:raise')
  expect(one.body).toMatchObject({ window: 'hour', from: hour(1), tools: [{ name: 'notes:raise' }] })
  expect((await ask('bob', 'GET /tools/stats')).body).toMatchObject({ tools: [{ name: 'ECHO', calls: 1 }] })
  const all = [{ name: 'ECHO', calls: 3 }, { name: 'notes:raise' }]
  expect((await ask('admin', 'GET /tools/stats')).body).toMatchObject({ tools: all })
  expect((await ask('admin', 'GET /tools/stats?uid=bob')).body).toMatchObject({ tools: [{ calls: 1 }] })
  expect((await ask('admin', 'GET /tools/stats?uid=root')).body).toMatchObject({ tools: [] })
})

const DENIED = '403 PERMISSION_DENIED'
const REFUSED: readonly RefusedRow[] = [
  ['the statistics of another user', 'ann', 'GET /tools/stats?uid=bob', {}, DENIED],
  ['statistics with a job token', 'token', 'GET /tools/stats', {}, DENIED],
  ['a window that there is none of', 'ann', 'GET /tools/stats?window=week', {}, '400 PARAMETER_INVALID'],
  ['a name that no tool can have', 'ann', 'GET /tools/stats?name=a%20b', {}, '400 PARAMETER_INVALID'],
  ['an id that no user can have', 'admin', 'GET /tools/stats?uid=a.b', {}, '400 PARAMETER_INVALID'],
  ['a parameter that is not known', 'ann', 'GET /tools/stats?of=everybody', {}, '400 PARAMETER_UNKNOWN'],
]
test.each(REFUSED)('%s is refused', async (_what, who, request, asked, expected) => {
  const { status, code } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
})

test('while the store is down, calls go on, and the statistics say since when counts are missing', async () => {
  state.isDown = true
  expect(await invoke('bob', 'ECHO')).toMatchObject({ status: 200 })
  expect((await ask('bob', 'GET /tools/stats?window=hour')).body).toMatchObject({
    incompleteSince: hour(1),
    tools: [{ name: 'ECHO', calls: 2 }],
  })
  state.isDown = false
  expect((await ask('bob', 'GET /tools/stats')).body).toMatchObject({ incompleteSince: null })
})
