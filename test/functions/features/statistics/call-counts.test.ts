import { describe, expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import type { CallFacts } from '../../../../functions/src/calls/invocation-logs.ts'
import { CallCounts } from '../../../../functions/src/features/statistics/call-counts.ts'
import { HOUR_MS, HourStore } from '../../../../functions/src/features/statistics/hour-store.ts'
import { ListTokens } from '../../../../functions/src/features/statistics/list-tokens.ts'
import {
  COUNTED_TOOLS_MAX,
  OWN_TOOLS_UNTIL,
  countOf,
  type ToolCount,
  type ToolCounts,
} from '../../../../functions/src/features/statistics/tool-count.ts'
import type { Pieces } from '../../../../functions/src/loop-turn.ts'
import { endedCall } from '../../../support/ended-call.ts'
import { memoryStores } from '../../../support/memory-governance.ts'

const AT = Date.parse('2026-03-31T12:34:56.000Z')
const HOUR = Date.parse('2026-03-31T12:00:00.000Z')

/** Counts over a store in memory. Its answers are lost, or it refuses, as the test says. */
function counting() {
  const clock = { nowMs: AT }
  const state = { isDown: false, losesAnswers: false, adds: 0, failures: 0, beforeRead: Promise.resolve() }
  const warnings: string[] = []
  const store = new HourStore(memoryStores(() => clock.nowMs).documents)
  const faulty: Pick<HourStore, 'add' | 'read'> = {
    async add(part, instance) {
      state.adds += 1
      if (state.isDown || state.failures-- > 0) throw new ToolrackError('STORE_FAILED')
      await store.add(part, instance)
      if (state.losesAnswers) throw new ToolrackError('STORE_FAILED')
    },
    async read(owner, hours) {
      await state.beforeRead
      if (state.isDown) throw new ToolrackError('STORE_FAILED')
      return store.read(owner, hours)
    },
  }
  const open = () =>
    new CallCounts({
      store: faulty,
      listTokens: new ListTokens(),
      now: () => clock.nowMs,
      log: { warn: (message) => void warnings.push(message) },
    })
  const counts = open()
  const call = (tool: string, facts: Partial<CallFacts> = {}, uid = 'ann', isOwn = false) =>
    counts.countCall(uid, endedCall({ tool, ...facts }), clock.nowMs, isOwn)
  async function read(from = counts, owner = 'ann') {
    const { tools, ...more } = await from.read(owner, clock.nowMs - 24 * HOUR_MS, clock.nowMs)
    return { ...more, tools: Object.fromEntries(tools) as Readonly<Record<string, ToolCount>> }
  }
  return { clock, state, warnings, counts, open, call, read }
}

test('a call counts once, whether it was written or not, and also while it is written', async () => {
  const { counts, call, read, open } = counting()
  call('a')
  expect((await read()).tools).toMatchObject({ a: { calls: 1 } })
  const writing = counts.write()
  call('a')
  expect((await read()).tools).toMatchObject({ a: { calls: 2 } })
  await writing
  expect((await read()).tools).toMatchObject({ a: { calls: 2 } })
  await counts.close()
  expect((await read()).tools).toMatchObject({ a: { calls: 2 } })
  expect((await read(open())).tools).toMatchObject({ a: { calls: 2 } })
  expect((await read(open(), '')).tools).toMatchObject({ a: { calls: 2 } })
})

test('a call counts once, also if two parts of its hour are joined and written while it is read', async () => {
  const { clock, state, counts, call, read } = counting()
  call('a')
  clock.nowMs += HOUR_MS
  call('a')
  clock.nowMs -= HOUR_MS
  call('a')
  const { promise, resolve } = Promise.withResolvers<void>()
  state.beforeRead = promise
  const reading = read()
  await counts.write()
  resolve()
  expect((await reading).tools).toMatchObject({ a: { calls: 2 } })
})

test('calls of two hours that end in turns make one part of each hour, so no others are forgotten', async () => {
  const { clock, counts, call, read } = counting()
  call('early', {}, 'bob')
  for (let at = 0; at < 6_000; at += 1) {
    clock.nowMs = AT + (at % 2) * HOUR_MS
    call('a')
  }
  // One of Bob, two of Ann, and two of all users.
  expect(counts.state.waiting).toBe(5)
  clock.nowMs = AT + HOUR_MS
  expect(await read()).toMatchObject({ incompleteSinceMs: null, tools: { a: { calls: 6_000 } } })
  await counts.write()
  expect(await read(counts, 'bob')).toMatchObject({ tools: { early: { calls: 1 } } })
  expect(await read()).toMatchObject({ tools: { a: { calls: 6_000 } } })
})

test('replays, dry runs and names of no tool do not count, and a refused call is none of the calls of its tool', async () => {
  const { call, read, counts } = counting()
  call('a')
  call('a', { outcome: 'failure', code: 'TOOL_RAISED' })
  call('a', { outcome: 'failure', code: 'DEADLINE_EXCEEDED' })
  call('a', { replayed: true })
  call('a', { dryRun: true })
  call('a', { outcome: 'failure', code: 'ARGUMENTS_INVALID' })
  call('a', { outcome: 'failure', code: 'APPROVAL_REQUIRED' })
  call('none', { outcome: 'failure', code: 'TOOL_NOT_FOUND', digest: null })
  expect((await read()).tools).toEqual({
    a: expect.objectContaining({
      calls: 3,
      failures: 2,
      refused: 2,
      lastUsedMs: AT,
      lastError: { code: 'ARGUMENTS_INVALID', atMs: AT },
    }),
  })
  expect(Object.fromEntries(counts.totals.calls)).toEqual({
    OK: 1,
    TOOL_RAISED: 1,
    DEADLINE_EXCEEDED: 1,
    ARGUMENTS_INVALID: 1,
    APPROVAL_REQUIRED: 1,
    TOOL_NOT_FOUND: 1,
  })
  expect([counts.totals.replays, counts.totals.dryRuns]).toEqual([1, 1])
})

describe('while the store is down', () => {
  test('calls are counted, and it is said since when counts may be missing; then all are written', async () => {
    const { clock, state, counts, call, read, open, warnings } = counting()
    call('a')
    await counts.write()
    state.isDown = true
    call('a')
    await counts.write()
    clock.nowMs += 60_000
    call('b')
    await counts.write()
    expect(await read()).toMatchObject({
      wasRead: false,
      incompleteSinceMs: HOUR - 24 * HOUR_MS,
      tools: { a: { calls: 1 }, b: { calls: 1 } },
    })
    expect(counts.state).toMatchObject({ downSinceMs: AT })
    expect(warnings).toContain('the counts of calls could not be written; they are written later')
    state.isDown = false
    expect(await read()).toMatchObject({ incompleteSinceMs: AT, tools: { a: { calls: 2 }, b: { calls: 1 } } })
    await counts.write()
    const whole = { wasRead: true, incompleteSinceMs: null, tools: { a: { calls: 2 }, b: { calls: 1 } } }
    for (const from of [counts, open()]) expect(await read(from)).toMatchObject(whole)
    expect(counts.state).toEqual({ waiting: 0, downSinceMs: null })
  })

  test('few writes are tried at once, whoever has made calls', async () => {
    const { state, counts, call } = counting()
    state.isDown = true
    for (let user = 0; user < 50; user += 1) call('a', {}, `user${user}`)
    await counts.write()
    expect(state.adds).toBeLessThan(10)
  })

  test('nothing counts twice if the store has written, but its answer was lost', async () => {
    const { state, counts, call, read, open } = counting()
    state.losesAnswers = true
    call('a')
    await counts.write()
    call('a')
    await counts.write()
    expect((await read()).tools).toMatchObject({ a: { calls: 2 } })
    state.losesAnswers = false
    await counts.write()
    for (const from of [counts, open()]) expect((await read(from)).tools).toMatchObject({ a: { calls: 2 } })
  })

  test('a part is never added before an earlier part of its user, because that one would then count as added', async () => {
    const { state, counts, call, read, open } = counting()
    state.isDown = true
    call('a', {}, '')
    await counts.write()
    state.isDown = false
    call('a', {}, '')
    state.failures = 1
    await counts.write()
    expect((await read(open(), '')).tools).toEqual({})
    await counts.write()
    expect((await read(open(), '')).tools).toMatchObject({ a: { calls: 4 } })
  })

  test('the oldest counts are forgotten when there are too many, and it is said', async () => {
    const { clock, state, counts, call, read } = counting()
    state.isDown = true
    for (let user = 0; user < 6_000; user += 1) call('a', {}, `user${user}`)
    expect(counts.state.waiting).toBeLessThanOrEqual(5_000)
    clock.nowMs += HOUR_MS
    state.isDown = false
    expect(await read()).toMatchObject({ incompleteSinceMs: HOUR })
    clock.nowMs += 26 * HOUR_MS
    expect(await read()).toMatchObject({ incompleteSinceMs: null })
  })
})

test('a clock that jumps back and forward changes only in which hour a call counts', async () => {
  const { clock, counts, call, read, open } = counting()
  for (const jumpMs of [0, -2 * HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS, 5 * HOUR_MS, -3 * HOUR_MS]) {
    clock.nowMs += jumpMs
    call('a')
    await counts.write()
  }
  clock.nowMs = AT + 24 * HOUR_MS
  call('a')
  const all = { tools: { a: { calls: 7 } } }
  expect(await open().read('ann', AT - 2 * HOUR_MS, AT + 24 * HOUR_MS)).toMatchObject({ wasRead: true })
  expect((await counts.read('ann', AT - 2 * HOUR_MS, AT + 24 * HOUR_MS)).tools.get('a')?.calls).toBe(
    all.tools.a.calls,
  )
  clock.nowMs = AT
  expect((await read()).tools['a']?.calls).toBeLessThan(7)
})

test('one user cannot make the counts grow without end; the tools that were called most stay', async () => {
  const { counts, call, read, open } = counting()
  for (let at = 0; at < COUNTED_TOOLS_MAX - 1; at += 1) call(`early${at}`)
  await counts.write()
  for (let at = 0; at < COUNTED_TOOLS_MAX + 100; at += 1) for (const _ of [1, 2]) call(`late${at}`)
  await counts.write()
  const names = Object.keys((await read(open())).tools)
  expect(names).toHaveLength(COUNTED_TOOLS_MAX)
  expect(names.filter((name) => name.startsWith('late'))).toHaveLength(COUNTED_TOOLS_MAX)
})

/** A list without a body, whose tool takes one token. */
function listOf(name: string, bytes = 1) {
  return { body: Buffer.alloc(0), bytes, tools: [{ name, isOwn: false, start: 0, end: 0, tokens: 1 }] }
}

test('lists that wait to be counted keep little memory, and later lists count again', async () => {
  const { counts, read } = counting()
  for (const name of ['a', 'b', 'c']) counts.countList('ann', listOf(name, 15 * 1024 * 1024), false)
  await counts.write()
  expect((await read()).tools).toEqual({ a: expect.objectContaining({ lists: 1 }) })
  counts.countList('ann', listOf('b', 15 * 1024 * 1024), false)
  await counts.write()
  expect((await read()).tools).toMatchObject({ a: { lists: 1 }, b: { lists: 1 } })
})

test('at most 100 different lists of a user are counted until the next write', async () => {
  const { counts, read } = counting()
  for (let at = 0; at < 120; at += 1) counts.countList('ann', listOf(`t${at}`), false)
  await counts.write()
  expect(Object.keys((await read()).tools)).toHaveLength(100)
  expect(Object.keys((await read(counts, '')).tools)).toHaveLength(120)
})

test('the own tools of a user do not crowd those that all users have out of the counts for everybody', async () => {
  const { counts, call, read } = counting()
  const own = Array.from({ length: COUNTED_TOOLS_MAX }, (_, at) => ({ name: `own${at}`, isOwn: true }))
  for (const { name } of own) for (const _ of [1, 2]) call(name, {}, 'eve', true)
  const tools = own.map((one) => ({ ...one, name: `listed-${one.name}`, start: 0, end: 0, tokens: 9 }))
  counts.countList('eve', { body: Buffer.alloc(0), bytes: 1, tools }, false)
  call('shared')
  await counts.write()
  const everybody = Object.keys((await read(counts, '')).tools)
  expect(everybody).toContain('shared')
  expect(everybody).toHaveLength(OWN_TOOLS_UNTIL + 1)
  expect(Object.keys((await read(counts, 'eve')).tools)).toHaveLength(COUNTED_TOOLS_MAX)
})

test('refused calls do not crowd out tools that were called', async () => {
  const { counts, call, read, open } = counting()
  call('called')
  await counts.write()
  for (let at = 0; at < COUNTED_TOOLS_MAX; at += 1)
    for (const _ of [1, 2, 3]) call(`refused${at}`, { code: 'ARGUMENTS_INVALID', outcome: 'failure' })
  await counts.write()
  expect(Object.keys((await read(open())).tools)).toContain('called')
})

test('in memory too, no more tools are counted than may be', () => {
  const tools: ToolCounts = new Map()
  const counted = Array.from({ length: COUNTED_TOOLS_MAX + 1 }, (_, at) => countOf(tools, `t${at}`))
  expect([tools.size, counted.at(-1)]).toEqual([COUNTED_TOOLS_MAX, undefined])
  expect(countOf(tools, 't0')).toBe(counted[0])
})

test('the tokens of very long lists are estimated after the first megabyte', async () => {
  const texts: string[] = []
  function* steps(text: string): Pieces<number> {
    texts.push(text)
    yield
    return 7
  }
  const tokens = new ListTokens(() => Promise.resolve(Object.assign(() => 7, { steps })))
  const end = 700_000
  const tools = [0, 1, 2].map((at) => ({
    name: `t${at}`,
    start: at * end,
    end: (at + 1) * end,
    isOwn: false,
    tokens: undefined,
  }))
  const body = Buffer.from('abc'.replaceAll(/./g, (letter) => letter.repeat(end)))
  const list = { body, tools, bytes: body.length }
  const estimated = Math.round(end / 4.5)
  const expected = [7, estimated, estimated].map((count, at) => ({
    name: `t${at}`,
    isOwn: false,
    tokens: count,
  }))
  expect(await tokens.of(list)).toEqual(expected)
  expect(await tokens.of(list)).toEqual(expected)
  expect(texts).toHaveLength(1)
})

test('the tokens of a list are counted once, and multiplied by the times it was sent', async () => {
  const { counts, read, open } = counting()
  const [one, other] = ['{"name":"a","description":"Tells the weather."}', '{"name":"b"}']
  const body = Buffer.from(`[${one},${other}]`)
  const start = 2 + one.length
  const tools = [
    { name: 'a', isOwn: false, start: 1, end: 1 + one.length, tokens: undefined },
    { name: 'b', isOwn: false, start, end: start + other.length, tokens: 5 },
  ]
  const list = { body, tools, bytes: body.length }
  for (const isSame of [false, true, true]) counts.countList('ann', list, isSame)
  await counts.write()
  const tokens = (await read(open())).tools['a']?.tokens ?? 0
  expect(tokens).toBeGreaterThan(3 * 5)
  expect(tokens % 3).toBe(0)
  expect((await read(open())).tools).toMatchObject({ a: { lists: 3, calls: 0 }, b: { lists: 3, tokens: 15 } })
  expect((await read(open(), '')).tools).toMatchObject({ b: { tokens: 15 } })
  expect(counts.totals.lists).toEqual({ sent: 1, same: 2 })
})
