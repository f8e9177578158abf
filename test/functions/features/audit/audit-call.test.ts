import { expect, test } from '@jest/globals'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import type { AuditStore } from '../../../../functions/src/features/audit/audit-store.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { inProcess } from '../../../support/in-process.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { deployedAccess, FIREBASE } from '../../../support/token-kinds.ts'

const parameters: JsonObject = { type: 'object', properties: {}, required: [] }
const RUN: ToolDefinition = {
  type: 'function',
  function: { name: 'notes:run', description: 'Runs.', parameters },
  runner: { kind: 'python', module: 'notes', sha256: 'a'.repeat(64) },
}

/** A service whose store of records fails when it is told to. `runs` counts what reached the runner. */
async function serviceWith(mode: 'on' | 'required') {
  const state = { runs: 0, isFailing: false, failsAfterRun: false }
  const kept: AuditStore = new SqliteAuditStore(':memory:')
  const append: AuditStore['append'] = (records) =>
    state.isFailing ? Promise.reject(new Error('the disk is full')) : kept.append(records)
  const trail = memoryAudit({ store: { ...kept, append }, mode, now: () => NOW })
  const service = await inProcess(
    deployedAccess(() => NOW),
    [RUN],
    () => NOW,
    {
      audit: trail,
      runner: {
        ...readingRunner(),
        invoke() {
          state.runs += 1
          state.isFailing ||= state.failsAfterRun
          const usage = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
          return Promise.resolve({
            text: 'done',
            isolation: 'L2',
            usage,
            log: { text: '', truncated: false },
          })
        },
      },
    },
  )
  async function ask(method: string, path: string, body: unknown) {
    const answer = await fetch(`${service.url}/workflows/tools/${path}`, {
      method,
      headers: { Authorization: `Bearer ${signed(FIREBASE, { sub: 'ann' })}` },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    return { status: answer.status, text, retry: answer.headers.get('retry-after') }
  }
  const records = async (): Promise<readonly JsonObject[]> =>
    (await trail.page({ limit: 100 })).texts.map((text) => JSON.parse(text) as JsonObject).toReversed()
  return { service, state, trail, ask, records }
}
const invoke = { name: 'notes:run', arguments: {} }
const outcomesOf = (records: readonly JsonObject[]): unknown[] =>
  records.map(({ kind, phase, outcome }) => [kind, phase, outcome])

test('required: a call and a write are recorded before and after, a refused call once', async () => {
  const { service, ask, records, state } = await serviceWith('required')
  expect(await ask('POST', 'invoke', invoke)).toMatchObject({ status: 200 })
  expect(await ask('POST', 'invoke', { ...invoke, arguments: [] })).toMatchObject({ status: 400 })
  const mine = { type: 'function', function: { name: 'mine', description: 'Mine.', parameters } }
  expect(await ask('PUT', 'defs/mine', mine)).toMatchObject({ status: 201 })
  const found = await records()
  expect(outcomesOf(found)).toEqual([
    ['call', 'start', 'started'],
    ['call', 'end', 'ok'],
    ['call', 'end', 'ARGUMENTS_INVALID'],
    ['write', 'start', 'started'],
    ['write', 'end', 'ok'],
  ])
  expect(found[0]?.['invocationId']).toBe(found[1]?.['invocationId'])
  expect(state.runs).toBe(1)
  await service[Symbol.asyncDispose]()
})

test('required: what cannot be recorded is not run and not written', async () => {
  const { service, ask, state, trail } = await serviceWith('required')
  state.isFailing = true
  const refused = await ask('POST', 'invoke', invoke)
  expect(refused).toMatchObject({ status: 503, retry: '1' })
  expect(refused.text).toContain('AUDIT_UNAVAILABLE')
  const mine = { type: 'function', function: { name: 'mine', description: 'Mine.', parameters } }
  const unwritten = await ask('PUT', 'defs/mine', mine)
  expect([unwritten.status, unwritten.text.includes('AUDIT_UNAVAILABLE')]).toEqual([503, true])
  expect(state.runs).toBe(0)
  state.isFailing = false
  expect(await ask('GET', 'defs/mine', undefined)).toMatchObject({ status: 404 })
  expect(await ask('POST', 'invoke', invoke)).toMatchObject({ status: 200 })
  expect((await trail.verify()).fault).toBeNull()
  await service[Symbol.asyncDispose]()
})

test('required: if only the end cannot be recorded, the caller gets the result, and the loss is counted', async () => {
  const { service, ask, state, trail, records } = await serviceWith('required')
  state.failsAfterRun = true
  expect(await ask('POST', 'invoke', invoke)).toMatchObject({ status: 200 })
  expect(trail.state).toMatchObject({ mode: 'required', lost: 1 })
  expect(outcomesOf(await records())).toEqual([['call', 'start', 'started']])
  await service[Symbol.asyncDispose]()
})

test('on: a call whose record cannot be kept runs, the loss is counted, and the next record says so', async () => {
  const { service, ask, state, trail, records } = await serviceWith('on')
  state.isFailing = true
  for (let index = 0; index < 3; index += 1)
    expect(await ask('POST', 'invoke', invoke)).toMatchObject({ status: 200 })
  expect(state.runs).toBe(3)
  expect(trail.state).toMatchObject({ lost: 3 })
  state.isFailing = false
  await ask('POST', 'invoke', invoke)
  expect(await records()).toMatchObject([{ seq: 1, lostBefore: 3, outcome: 'ok' }])
  await service[Symbol.asyncDispose]()
})

test('on: events above the bound of the queue are lost and counted, and the others are kept in their order', async () => {
  const kept: AuditStore = new SqliteAuditStore(':memory:')
  const { promise: open, resolve } = Promise.withResolvers<void>()
  const trail = memoryAudit({
    store: { ...kept, isImmediate: false, append: (records) => open.then(() => kept.append(records)) },
  })
  const events = Array.from({ length: 1_500 }, (_, index) => index)
  for (const index of events)
    await trail.record(() => ({
      kind: 'call',
      principal: { kind: 'user', uid: 'a' },
      outcome: 'ok',
      durationMs: index,
    }))
  expect(trail.state.lost).toBeGreaterThan(300)
  resolve()
  await trail.written()
  const report = await trail.verify()
  expect(report).toMatchObject({ fault: null, records: 1_500 - trail.state.lost })
  await trail.close()
})
