import { afterEach, expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { routeService } from '../../../support/route-service.ts'
import { NOW } from '../../../support/signed-tokens.ts'

function python(name: string, grants: object = {}): ToolDefinition {
  const parameters = { type: 'object', properties: {}, required: [] }
  return {
    type: 'function',
    function: { name, description: 'Runs.', parameters },
    runner: { kind: 'python', module: 'web', sha256: 'a'.repeat(64), ...grants },
  }
}

const TOOLS = [
  python('web:get', { network: ['API.example.com:8443'], secrets: ['API_KEY'] }),
  python('data:mean', { packages: ['pandas>=2'] }),
  python('plain:run'),
]
const audit = memoryAudit({ mode: 'required', now: () => NOW })
/** How the runner answers. Without `usage`, it has run nothing. */
const state = { answer: 'ran' as 'ran' | 'raised' | 'busy' | 'lost', runs: 0 }
const facts = {
  isolation: 'L2',
  usage: { wallMs: 1, cpuMs: 1, maxRssBytes: 1 },
  log: { text: '', truncated: false },
} as const
const ask = await routeService(TOOLS, {
  audit,
  runner: {
    ...readingRunner(),
    invoke() {
      state.runs += 1
      const answers = {
        ran: { ...facts, text: 'done' },
        raised: { ...facts, code: 'TOOL_RAISED', error: 'ValueError: no' },
        busy: { code: 'RUNNER_BUSY', error: 'Nothing was run: it is busy.' },
        lost: { code: 'WORKER_DIED', error: 'The tool may have run.' },
      } as const
      return Promise.resolve(answers[state.answer])
    },
  },
})

/** The tool of the file layer gets this global secret. */
await ask('admin', 'PUT /secrets/API_KEY?layer=global', { body: { value: 'a key of the tests' } })

/** Every test starts without rules. */
afterEach(async () => {
  for (const owner of ['everybody/all', 'user/ann']) await ask('admin', `DELETE /rules/${owner}`)
  state.answer = 'ran'
})

const GRANTS = [
  { kind: 'network', value: 'API.example.com:8443' },
  { kind: 'secrets', value: 'API_KEY' },
]

const call = (name: string, more: object = {}) =>
  ask('ann', 'POST /tools/invoke', { body: { name, arguments: {}, ...more } })

async function listed(): Promise<readonly string[]> {
  const { body } = await ask('ann', 'GET /tools/list')
  return (body as unknown as readonly { function: { name: string } }[]).map((one) => one.function.name)
}

async function write(owner: string, ...rules: readonly object[]) {
  return ask('admin', `PUT /rules/${owner}`, { body: { rules } })
}

/** The newest records of calls, the newest first. */
async function records(count: number): Promise<readonly Record<string, unknown>[]> {
  const { texts } = await audit.page({ limit: 100 })
  const all = texts.map((text) => JSON.parse(text) as Record<string, unknown>)
  return all.filter((record) => record['kind'] === 'call').slice(0, count)
}

test('a denied network hides its tools, and a call by name is refused with the rule and the grant', async () => {
  const rule = { effect: 'deny', grant: 'network', value: 'api.EXAMPLE.com' }
  const all = await listed()
  expect(await write('everybody/all', rule)).toMatchObject({
    status: 201,
    body: { rules: [rule], meets: [{ tool: 'web:get', args: {} }] },
  })
  expect(await listed()).toEqual(all.filter((name) => name !== 'web:get'))
  const runs = state.runs
  const reason = 'Rule 0 for everybody says deny: the tool asks for network API.example.com:8443.'
  expect(await call('web:get')).toMatchObject({
    status: 403,
    body: {
      code: 'PERMISSION_DENIED',
      textResultForLlm: `web:get may not be called; nothing was run. ${reason}`,
      meta: { decision: { effect: 'deny', rule: 0, reason } },
    },
  })
  expect(state.runs).toBe(runs)
  expect(
    await ask('ann', 'POST /permissions/simulate', { body: { name: 'web:get', arguments: {} } }),
  ).toMatchObject({
    status: 200,
    body: { effect: 'deny', rule: 0, reason },
  })
  expect(await ask('ann', 'GET /tools/explain?name=web:get')).toMatchObject({ status: 200 })
  expect(await call('data:mean')).toMatchObject({ status: 200 })
  expect(await ask('admin', 'GET /rules/everybody/all')).toMatchObject({ body: { rules: [rule] } })
  expect(await ask('admin', 'GET /rules/everybody/all/versions')).toMatchObject({
    body: { versions: [{ rules: [rule] }] },
  })
})

test('an allow of packages denies the other packages, and allows no call that is denied otherwise', async () => {
  await write('everybody/all', { effect: 'allow', grant: 'packages', value: 'polars', future: true })
  expect(await call('data:mean')).toMatchObject({
    status: 403,
    body: {
      error: expect.stringContaining(
        'The rules for everybody allow only some packages: pandas>=2 is not among them (rule 0).',
      ),
    },
  })
  expect(await call('web:get')).toMatchObject({ status: 200 })
  await write('everybody/all', { effect: 'allow', grant: 'packages', value: 'pandas' })
  expect(await call('data:mean')).toMatchObject({ status: 200 })
  const denied = { default: 'deny', rules: [{ effect: 'allow', grant: 'packages', value: 'pandas' }] }
  await ask('admin', 'PUT /rules/everybody/all', { body: denied })
  expect(await call('data:mean')).toMatchObject({ status: 403 })
})

test('an ask about a secret asks for an approval, and an always for it ends with the rule', async () => {
  const rule = { effect: 'ask', grant: 'secrets', value: 'API_*' }
  await write('user/ann', rule, { effect: 'ask', tool: 'web:*' })
  const waiting = await call('web:get')
  const { meta } = waiting.body as { meta: { approval: { id: string }; grants?: unknown } }
  expect(waiting).toMatchObject({ status: 202, code: 'APPROVAL_REQUIRED' })
  expect(meta.grants).toBeUndefined()
  const { id } = meta.approval
  expect((await ask('ann', `GET /approvals/${id}`)).body).toMatchObject({
    reason: 'Rule 0 of the user ann says ask: the tool asks for secrets API_KEY.',
  })
  expect(await ask('ann', `POST /approvals/${id}`, { body: { decision: 'always' } })).toMatchObject({
    status: 200,
  })
  // The approval has answered one of the two rules.
  const { body } = await call('web:get')
  const other = (body as { meta: { approval: { id: string } } }).meta.approval.id
  expect(other).not.toBe(id)
  await ask('ann', `POST /approvals/${other}`, { body: { decision: 'always' } })
  expect(await call('web:get')).toMatchObject({ status: 200, body: { meta: { grants: GRANTS } } })
  // The rule about the tool is still answered, and the one about the grant is new.
  await write('user/ann', { effect: 'ask', tool: 'web:*' }, { ...rule, value: 'API_K*' })
  expect(await call('web:get')).toMatchObject({ code: 'APPROVAL_REQUIRED' })
})

test('a default that asks and an ask about a grant are asked for one by one', async () => {
  const rules = [{ effect: 'ask', grant: 'secrets', value: '*' }]
  await ask('admin', 'PUT /rules/user/ann', { body: { default: 'ask', rules: [] } })
  const first = (await call('web:get')).body as { meta: { approval: { id: string } } }
  await ask('ann', `POST /approvals/${first.meta.approval.id}`, { body: { decision: 'always' } })
  expect(await call('web:get')).toMatchObject({ status: 200 })
  await ask('admin', 'PUT /rules/user/ann', { body: { default: 'ask', rules } })
  expect(await call('web:get')).toMatchObject({ code: 'APPROVAL_REQUIRED' })
})

test('the answer and the record of a call name its grants if and only if something ran', async () => {
  expect((await call('web:get')).body).toMatchObject({ meta: { grants: GRANTS } })
  // The record of the start says what the call is about to have.
  expect(await records(2)).toMatchObject([
    { phase: 'end', grants: GRANTS },
    { phase: 'start', grants: GRANTS },
  ])
  const plain = await call('plain:run')
  expect(plain.body['meta']).not.toHaveProperty('grants')
  for (const record of await records(2)) expect(record).not.toHaveProperty('grants')
  for (const answer of ['raised', 'lost'] as const) {
    state.answer = answer
    expect((await call('web:get')).body).toMatchObject({ meta: { grants: GRANTS } })
    expect(await records(1)).toMatchObject([{ phase: 'end', grants: GRANTS }])
  }
  state.answer = 'busy'
  expect((await call('web:get')).body['meta']).not.toHaveProperty('grants')
  expect((await records(1))[0]).not.toHaveProperty('grants')
  state.answer = 'ran'
  const dry = await ask('ann', 'POST /tools/invoke?dryRun=1', { body: { name: 'web:get', arguments: {} } })
  expect([dry.status, JSON.stringify(dry.body).includes('"grants"')]).toEqual([200, false])
  expect((await records(1))[0]).toMatchObject({ dryRun: true })
  expect((await records(1))[0]).not.toHaveProperty('grants')
  const headers = { 'Idempotency-Key': 'a-key' }
  const body = { name: 'web:get', arguments: {} }
  const once = await ask('ann', 'POST /tools/invoke', { body, headers })
  const again = await ask('ann', 'POST /tools/invoke', { body, headers })
  expect([once.body['meta'], again.body['meta']]).toMatchObject([
    { replayed: false, grants: GRANTS },
    { replayed: true },
  ])
  expect(again.body['meta']).not.toHaveProperty('grants')
  expect((await records(1))[0]).not.toHaveProperty('grants')
  expect(await ask('admin', 'GET /audit/verify')).toMatchObject({ body: { ok: true } })
})
