import { expect, test } from '@jest/globals'
import { ToolrackError, type ErrorCode } from '@toolrack/contract'
import { dispatch, parseCalls } from '../../../../functions/src/features/calling/dispatcher.ts'
import { HeldResults } from '../../../../functions/src/features/calling/held-results.ts'
import type { CallKeys } from '../../../../functions/src/features/once/idempotency-keys.ts'
import { RulesInForce } from '../../../../functions/src/features/rules/rules-in-force.ts'
import type { RunnerOutcome } from '../../../../functions/src/catalog/definitions/runner.ts'
import { jsonOf } from '../../../../functions/src/json/json-text.ts'
import { memoryStores, newSealing } from '../../../support/memory-governance.ts'
import { ANN, failed, keyedCalls, RAN } from '../../../support/once.ts'

const { keys } = memoryStores()

let count = 0
const newKey = (): string => `key ${(count += 1)}`

test('the same call again gets the first result, and runs nothing', async () => {
  const { ask, ran } = keyedCalls(keys)
  const key = newKey()
  const first = await ask(key, { args: { to: 'bob', n: [1, { b: 2, a: 3 }] } })
  const again = await ask(key, { args: { n: [1, { a: 3, b: 2 }], to: 'bob' } })
  expect(ran).toHaveLength(1)
  expect([first.meta.replayed, again.meta.replayed]).toEqual([false, true])
  expect(again).toMatchObject({ resultType: 'success', textResultForLlm: '{"sent": 1.0}' })
  expect(jsonOf(again)).toContain('"data":{"sent": 1.0}')
})

test.each([
  ['other arguments', { args: { to: 'eve' } }],
  ['another tool', { name: 'mail:other', args: { to: 'bob' } }],
])('the same key with %s is a conflict, while the first call runs and after it', async (_what, other) => {
  const { promise, resolve } = Promise.withResolvers<RunnerOutcome>()
  const { ask, ran } = keyedCalls(keys, () => promise)
  const key = newKey()
  const first = ask(key, { args: { to: 'bob' } })
  await until(() => ran.length === 1)
  expect(await ask(key, other)).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  resolve(RAN)
  await first
  expect(await ask(key, other)).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
  expect(ran).toHaveLength(1)
})

test('another user, a job of the same user, and a call without a key are calls of their own', async () => {
  const { ask, ran } = keyedCalls(keys)
  const key = newKey()
  const job = { kind: 'job', uid: 'ann', isAdmin: false } as const
  await ask(key)
  await ask(key, { principal: job })
  await ask(undefined)
  await ask(undefined)
  expect(ran).toHaveLength(4)
  expect((await ask(key, { principal: job })).meta.replayed).toBe(true)
  expect(ran).toHaveLength(4)
})

test('of 200 callers with one key at once exactly one runs the tool, and all get its result', async () => {
  const { ask, asked, ran } = keyedCalls(keys, async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return RAN
  })
  const key = newKey()
  const outcomes = await Promise.all(Array.from({ length: 200 }, () => asked(key)))
  const inFlight = outcomes.filter(
    ({ result, retryAfterSeconds }) =>
      result.resultType === 'failure' && result.code === 'CALL_IN_FLIGHT' && retryAfterSeconds === 1,
  )
  expect([ran.length, inFlight.length]).toEqual([1, 199])
  const later = await Promise.all(Array.from({ length: 200 }, () => ask(key)))
  expect(later.every(({ meta, textResultForLlm }) => meta.replayed && textResultForLlm === RAN.json)).toBe(
    true,
  )
  expect(ran).toHaveLength(1)
})

const RESULTS: readonly ErrorCode[] = ['TOOL_RAISED', 'DEADLINE_EXCEEDED', 'MEMORY_LIMIT', 'MODULE_BROKEN']
test.each(RESULTS)('a call that ended with %s has run, and its failure is the result', async (code) => {
  const { ask, ran } = keyedCalls(keys, () => failed(code, true))
  const key = newKey()
  const first = await ask(key)
  expect(await ask(key)).toEqual({ ...first, meta: expect.objectContaining({ replayed: true }) })
  expect(ran).toHaveLength(1)
})

const FREE: readonly ErrorCode[] = [
  'RUNNER_UNAVAILABLE',
  'RUNNER_BUSY',
  'ISOLATION_UNAVAILABLE',
  'AUDIT_UNAVAILABLE',
  'TOOL_NOT_FOUND',
]
test.each(FREE)('a call that ended with %s has run nothing, and its key is free', async (code) => {
  const answers = [failed(code, false), RAN]
  const { ask } = keyedCalls(keys, () => answers.shift() ?? RAN)
  const key = newKey()
  expect(await ask(key, { args: { to: 'eve' } })).toMatchObject({ code })
  expect(await ask(key)).toMatchObject({ resultType: 'success', meta: { replayed: false } })
})

test('a kept result is only for a caller who may still call the tool', async () => {
  const key = newKey()
  await keyedCalls(keys).ask(key)
  const owner = { kind: 'everybody', id: 'all' } as const
  const ruleBook = {
    of: () => Promise.resolve(new RulesInForce([{ owner, set: { default: 'deny', rules: [] } }])),
  }
  const { ask, ran } = keyedCalls(keys, undefined, { ruleBook })
  expect(await ask(key)).toMatchObject({ code: 'PERMISSION_DENIED', meta: { replayed: false } })
  expect(ran).toHaveLength(0)
})

test('a refusal before the run claims nothing', async () => {
  const { ask } = keyedCalls(keys)
  const key = newKey()
  expect(await ask(key, { name: 'none' })).toMatchObject({ code: 'TOOL_NOT_FOUND' })
  expect(await ask(key, { name: 'atClient' })).toMatchObject({ code: 'RUNS_AT_CLIENT' })
  expect(await ask(key)).toMatchObject({ meta: { replayed: false }, resultType: 'success' })
})

test.each([
  ['a lost worker', () => failed('WORKER_DIED', false)],
  ['a lost worker that was measured', () => failed('WORKER_DIED', true)],
])('%s: its caller learns that the tool may have run, and the key is UNKNOWN_OUTCOME', async (_what, run) => {
  const { ask, ran } = keyedCalls(keys, run)
  const key = newKey()
  expect(await ask(key)).toMatchObject({ code: 'WORKER_DIED' })
  expect(await ask(key)).toMatchObject({ code: 'UNKNOWN_OUTCOME', meta: { replayed: false } })
  expect(ran).toHaveLength(1)
})

test('a failure of the service itself leaves the outcome unknown', async () => {
  const { ask } = keyedCalls(keys, () => Promise.reject(new Error('a bug')))
  const key = newKey()
  expect(await ask(key)).toMatchObject({ code: 'INTERNAL' })
  expect(await ask(key)).toMatchObject({ code: 'UNKNOWN_OUTCOME' })
})

/** Keys of which one operation fails. */
function failing(operation: keyof CallKeys): CallKeys {
  const { claim, complete, read, release } = keys
  return {
    claim,
    complete,
    read,
    release,
    [operation]: () => Promise.reject(new ToolrackError('STORE_FAILED')),
  }
}

test('a store that fails before the run refuses the call', async () => {
  const key = newKey()
  const lame = keyedCalls(failing('claim'))
  expect(await lame.ask(key)).toMatchObject({ code: 'STORE_FAILED' })
  expect(lame.ran).toHaveLength(0)
  expect(await keyedCalls(keys).ask(key)).toMatchObject({ resultType: 'success', meta: { replayed: false } })
})

test('a store that fails after the run: the caller gets the result, and the key never runs again', async () => {
  const key = newKey()
  const lame = keyedCalls(failing('complete'))
  expect(await lame.ask(key)).toMatchObject({ resultType: 'success' })
  expect(lame.logged).toEqual([expect.stringContaining('step failed')])
  const { ask, ran } = keyedCalls(keys)
  expect(await ask(key)).toMatchObject({ code: 'CALL_IN_FLIGHT' })
  expect(ran).toHaveLength(0)
})

test('a call with a key goes on when its caller has gone, and one without a key is not begun', async () => {
  const { ask, ran } = keyedCalls(keys, ({ signal }) => (signal.aborted ? failed('WORKER_DIED', false) : RAN))
  const key = newKey()
  const signal = AbortSignal.abort()
  await ask(key, { signal })
  expect(await ask(key)).toMatchObject({ resultType: 'success', meta: { replayed: true } })
  expect(await ask(undefined, { signal })).toMatchObject({ code: 'CANCELLED' })
  expect(ran).toHaveLength(1)
})

test('each call of a dispatch has its own key, and the same dispatch again runs nothing', async () => {
  const { invoker, ran } = keyedCalls(keys)
  const calls = ['c1', 'c2'].map((id) => ({
    id,
    type: 'function',
    function: { name: 'mail__send', arguments: '{"to":"bob"}' },
  }))
  const sender = {
    principal: ANN,
    signal: new AbortController().signal,
    headers: { idempotencyKey: newKey(), traceparent: undefined },
  }
  const dispatched = async (sent: readonly object[]) =>
    dispatch(invoker, sender, parseCalls(JSON.parse(JSON.stringify(sent))), new HeldResults().begin('ann'))
  const first = await dispatched(calls)
  const again = await dispatched(calls)
  expect(ran).toHaveLength(2)
  expect(again.messages).toEqual(first.messages)
  expect(again.results.map(({ result }) => result?.meta.replayed)).toEqual([true, true])
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

const SECRET_RESULT = { ...RAN, json: '{"api_key": "a secret of the tool"}' }

/** The keys, and what they were told to keep. */
function seenKeys() {
  const seen: string[] = []
  const { keys: own } = memoryStores()
  const complete: CallKeys['complete'] = (key, owner, outcome) => {
    seen.push(outcome.text)
    return own.complete(key, owner, outcome)
  }
  return { seen, keys: { claim: own.claim, read: own.read, release: own.release, complete } }
}

test('a result is kept sealed, and is replayed', async () => {
  const { seen, keys: own } = seenKeys()
  const { ask } = keyedCalls(own, () => SECRET_RESULT, { sealing: newSealing() })
  const first = await ask('k')
  expect(seen).toEqual([expect.stringMatching(/^s1\.[\w-]+$/)])
  expect(await ask('k')).toMatchObject({ textResultForLlm: first.textResultForLlm, meta: { replayed: true } })
})

test('a result that another key has sealed, or that was put into the store, is not replayed', async () => {
  const { keys: own } = seenKeys()
  await keyedCalls(own, () => RAN, { sealing: newSealing() }).ask('k')
  const plain = keyedCalls(own, () => RAN)
  await plain.ask('plain')
  for (const [key, sealing] of [
    ['k', newSealing()],
    ['k', undefined],
    ['plain', newSealing()],
  ] as const) {
    const { ask, ran } = keyedCalls(own, () => RAN, { sealing })
    expect(await ask(key)).toMatchObject({
      code: 'UNKNOWN_OUTCOME',
      error: expect.stringContaining('another sealing key'),
      meta: { replayed: false },
    })
    expect(ran).toEqual([])
  }
})

test('without a key for sealing, a result with a secret is not kept, and the next answer says so', async () => {
  const { seen, keys: own } = seenKeys()
  const { ask, ran } = keyedCalls(own, ({ arguments: args }) =>
    args['password'] === undefined ? SECRET_RESULT : { ...RAN, json: '"open sesame"' },
  )
  for (const args of [{}, { password: 'open sesame' }]) {
    const key = newKey()
    expect(await ask(key, { args })).toMatchObject({ resultType: 'success' })
    expect(await ask(key, { args })).toMatchObject({
      code: 'UNKNOWN_OUTCOME',
      error: expect.stringContaining('TOOLRACK_SEALING_KEY'),
    })
  }
  expect([ran.length, seen.join().includes('sesame'), seen.join().includes('secret of')]).toEqual([
    2,
    false,
    false,
  ])
})
