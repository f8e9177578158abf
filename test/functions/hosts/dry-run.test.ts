import { expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import type { FoundCall } from '../../../functions/src/calls/invocation-logs.ts'
import { absentRunner } from '../../../functions/src/catalog/definitions/runner.ts'
import type { RunnerCall } from '../../../functions/src/catalog/definitions/runner.ts'
import { tool } from '../../support/definition-changes.ts'
import { routeService } from '../../support/route-service.ts'

/** A tool of Python that takes one text. */
function python(name: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  const definition = tool(name)
  return {
    ...definition,
    function: { ...definition.function, parameters },
    runner: { kind: 'python', module: 'm', sha256: 'a'.repeat(64) },
    ...more,
  }
}

const READS = python('READS', { annotations: { readOnlyHint: true }, limits: { timeoutSeconds: 3 } })
const ran: RunnerCall[] = []
const ask = await routeService(
  [
    READS,
    python('OPAQUE', { annotations: { classes: ['file_write', 'create', 'update'] } }),
    python('STRICT', { limits: { minIsolation: 'L9' } }),
    { ...tool('ECHO'), runner: { kind: 'builtin', builtin: 'echo' } },
    tool('CLIENT'),
    { ...tool('FAR'), runner: { kind: 'http' } },
  ],
  {
    runner: {
      ...absentRunner('None.'),
      invoke: (call) => {
        ran.push(call)
        const usage = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
        return Promise.resolve({ text: 'ran', isolation: 'L2', usage, log: { text: '', truncated: false } })
      },
    },
  },
  [{ name: 'READS', digest: definitionDigest(READS) }],
)

const call = (name: string, args: object = { text: 'a' }) => ({ body: { name, arguments: args } })
const WITHOUT_RULES = { decision: 'allow', rule: null, owner: null, reason: 'There are no rules.' }

test('a dry run says what the rules decide, what the tool does and its limits, and the handler does not run', async () => {
  const reads = { ...WITHOUT_RULES, effects: ['read'], limits: { timeoutSeconds: 3 } }
  for (const who of ['ann', 'account', 'token'] as const) {
    const answer = await ask(who, 'POST /tools/invoke?dryRun=1', call('READS'))
    expect([answer.status, answer.body]).toEqual([200, reads])
    expect(answer.headers.get('Cache-Control')).toBe('private, no-store')
  }
  const several = await ask('ann', 'POST /tools/invoke?dryRun=true', call('OPAQUE'))
  expect(several.body).toEqual({
    ...WITHOUT_RULES,
    effects: ['create', 'update'],
    limits: { timeoutSeconds: 30 },
  })
  expect(ran).toEqual([])
  const real = await ask('ann', 'POST /tools/invoke?dryRun=0', call('READS'))
  expect(real.body).toMatchObject({ resultType: 'success', textResultForLlm: 'ran' })
  expect(ran).toHaveLength(1)
})

test('a dry run of a built-in tool is not answered with its result', async () => {
  const { body } = await ask('ann', 'POST /tools/invoke?dryRun=1', call('ECHO'))
  expect(body).toEqual({ ...WITHOUT_RULES, effects: ['opaque'], limits: {} })
})

test.each([
  ['no tool', 'NONE', {}, '404 TOOL_NOT_FOUND'],
  ['wrong arguments', 'READS', { text: 1 }, '400 ARGUMENTS_INVALID'],
  ['a missing argument', 'READS', {}, '400 ARGUMENTS_INVALID'],
  ['a tool of the client', 'CLIENT', {}, '409 RUNS_AT_CLIENT'],
  ['a kind that is not served', 'FAR', {}, '501 KIND_NOT_SERVED'],
  ['an unknown level of isolation', 'STRICT', { text: 'a' }, '503 ISOLATION_UNAVAILABLE'],
])('a dry run of %s is refused as the call would be', async (_what, name, args, expected) => {
  const dry = await ask('ann', 'POST /tools/invoke?dryRun=1', call(name, args))
  const real = await ask('ann', 'POST /tools/invoke', call(name, args))
  expect(`${dry.status} ${dry.code}`).toBe(expected)
  const ofCall = { meta: expect.objectContaining({ tool: (real.body['meta'] as { tool: unknown }).tool }) }
  expect(dry.body).toEqual({ ...real.body, ...ofCall })
  expect(dry.status).toBe(real.status)
})

test('a dry run is denied by the rule that denies the call, and one that asks makes no approval', async () => {
  const rules = [
    { effect: 'deny', tool: 'READS', args: { text: 'secret*' } },
    { effect: 'ask', tool: 'READS', args: { text: 'b' } },
  ]
  const written = await ask('bob', 'PUT /rules/user/bob', { body: { rules } })
  expect(written.status).toBeLessThan(300)
  const before = ran.length
  const denied = await ask('bob', 'POST /tools/invoke?dryRun=1', call('READS', { text: 'secrets' }))
  expect(`${denied.status} ${denied.code}`).toBe('403 PERMISSION_DENIED')
  const asks = await ask('bob', 'POST /tools/invoke?dryRun=1', call('READS', { text: 'b' }))
  const owner = { kind: 'user', id: 'bob' }
  expect([asks.status, asks.body]).toMatchObject([200, { decision: 'ask', rule: 1, owner }])
  expect(asks.body['reason']).toMatch(/^Rule 1 /)
  expect(ran).toHaveLength(before)
  const { body } = await ask('bob', 'GET /tools/invocations?outcome=PERMISSION_DENIED')
  expect(body['items']).toMatchObject([{ decision: { effect: 'deny', rule: 0, owner }, dryRun: true }])
  expect(JSON.stringify(body)).not.toContain('secret')
})

test('with a job token, a dry run of another tool is denied', async () => {
  const { status, code } = await ask('token', 'POST /tools/invoke?dryRun=1', call('ECHO'))
  expect(`${status} ${code}`).toBe('403 PERMISSION_DENIED')
})

test.each([
  ['dryRun=yes', 'PARAMETER_INVALID'],
  ['dryRun=', 'PARAMETER_INVALID'],
  ['dryRun=1&dryRun=0', 'PARAMETER_INVALID'],
  ['dryrun=1', 'PARAMETER_UNKNOWN'],
])('?%s is a ToolResult that says so, and nothing runs', async (query, code) => {
  const before = ran.length
  const { status, body } = await ask('ann', `POST /tools/invoke?${query}`, call('READS'))
  expect([status, body]).toMatchObject([400, { resultType: 'failure', code, meta: { tool: null } }])
  expect(ran).toHaveLength(before)
})

test('a caller who listens gets the answer to a dry run as JSON', async () => {
  const answer = await ask('ann', 'POST /tools/invoke?dryRun=1', {
    ...call('READS'),
    headers: { Accept: 'text/event-stream' },
  })
  expect(answer.headers.get('Content-Type')).toContain('application/json')
  expect(answer.body).toMatchObject({ decision: 'allow' })
})

test('a dispatch cannot be a dry run', async () => {
  const body = [{ type: 'tool_use', id: 'a', name: 'READS', input: { text: 'a' } }]
  const before = ran.length
  const { status, code } = await ask('ann', 'POST /tools/dispatch?dryRun=1', { body })
  expect(`${status} ${code}`).toBe('400 PARAMETER_UNKNOWN')
  expect(ran).toHaveLength(before)
})

test('a dry run is found among the calls, and marked as one', async () => {
  await ask('admin', 'POST /tools/invoke?dryRun=1', call('READS'))
  await ask('admin', 'POST /tools/invoke', call('READS'))
  const { body } = await ask('admin', 'GET /tools/invocations')
  const items = body['items'] as readonly FoundCall[]
  expect(items.map(({ tool: name, dryRun, outcome }) => [name, dryRun, outcome]).toSorted()).toEqual([
    ['READS', false, 'success'],
    ['READS', true, 'success'],
  ])
})
