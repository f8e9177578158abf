import { describe, expect, test } from '@jest/globals'
import type { Digest } from '@toolrack/contract'
import { Circuits, type CircuitTool } from '../../../../functions/src/features/circuits/circuits.ts'
import { faultyGovernance } from '../../../support/memory-governance.ts'
import type { Verdict } from '../../../../functions/src/features/circuits/verdict.ts'

const MINUTE_MS = 60_000
const AT = Date.parse('2026-03-31T12:00:00.000Z')
const DIGEST: Digest = `sha256:${'a'.repeat(64)}`
const PYTHON = {
  by: 'python',
  module: 'm',
  sha256: 'a'.repeat(64),
  network: [],
  secrets: ['HOST_KEY'],
} as const
const toolOf = (digest: Digest, more: Partial<CircuitTool> = {}): CircuitTool => ({
  layer: 'global',
  digest,
  howRun: PYTHON,
  ...more,
})
const TOOL = toolOf(DIGEST)

/** Circuits of one instance, with clocks that the test sets. */
function instance() {
  const clock = { nowMs: AT, steadyMs: 5_000 }
  const log = { warn: () => undefined }
  const circuits = new Circuits({ now: () => clock.nowMs, steadyMs: () => clock.steadyMs, log })

  /** Begins a call. Its end is given to the function that is returned, which is undefined if the call is refused. */
  function begun(uid = 'ann', tool = TOOL) {
    const entered = circuits.enter(uid, tool)
    return 'for' in entered ? undefined : (verdict: Verdict) => circuits.leave(uid, tool, entered, verdict)
  }
  function call(verdict: Verdict, uid = 'ann', tool = TOOL): 'called' | 'refused' {
    const end = begun(uid, tool)
    end?.(verdict)
    return end ? 'called' : 'refused'
  }
  function fail(times: number, uid = 'ann', tool = TOOL): void {
    for (let n = 0; n < times; n += 1) call('failed', uid, tool)
  }
  return { circuits, clock, begun, call, fail, stateOf: (uid = 'ann') => circuits.of(uid, TOOL) }
}

describe('the circuit of a user', () => {
  test('opens after five failures in a row, and only for this user and this digest', () => {
    const { circuits, call, fail, stateOf } = instance()
    fail(4)
    expect(stateOf()).toEqual({ state: 'closed' })
    fail(1)
    expect(stateOf()).toEqual({ state: 'open', for: 'you', until: '2026-03-31T12:01:00.000Z' })
    expect(call('worked')).toBe('refused')
    expect(circuits.enter('ann', TOOL)).toEqual({ for: 'you', leftMs: MINUTE_MS })
    expect(stateOf('bob')).toEqual({ state: 'closed' })
    expect(call('worked', 'bob')).toBe('called')
    expect(call('worked', 'ann', toolOf(`sha256:${'b'.repeat(64)}`))).toBe('called')
    expect([...circuits.openFor('ann')]).toEqual([`global ${DIGEST}`])
    expect([...circuits.openFor('bob')]).toEqual([])
    expect(circuits.counts()).toEqual({ ofUsers: 1, ofEverybody: 0 })
  })

  test('a success between failures resets them, and a fault of the caller does not', () => {
    const { call, fail, stateOf } = instance()
    fail(4)
    call('worked')
    fail(4)
    expect(stateOf()).toEqual({ state: 'closed' })
    call('neither')
    fail(1)
    expect(stateOf()).toMatchObject({ state: 'open' })
  })

  test('failures that are not within one minute do not open it', () => {
    const { clock, fail, stateOf } = instance()
    for (let n = 0; n < 10; n += 1) {
      fail(1)
      clock.steadyMs += MINUTE_MS / 4
    }
    expect(stateOf()).toEqual({ state: 'closed' })
  })

  test('lets one call through after a minute; its success closes it, and its failure opens it again', () => {
    const { begun, call, clock, fail, stateOf } = instance()
    fail(5)
    clock.steadyMs += MINUTE_MS - 1
    expect(call('worked')).toBe('refused')
    clock.steadyMs += 1
    expect(stateOf()).toEqual({ state: 'half-open', for: 'you' })
    const endFirst = begun()
    expect(call('worked')).toBe('refused')
    endFirst?.('failed')
    expect(stateOf()).toMatchObject({ state: 'open' })
    clock.steadyMs += MINUTE_MS
    expect(call('worked')).toBe('called')
    expect(stateOf()).toEqual({ state: 'closed' })
    fail(4)
    expect(stateOf()).toEqual({ state: 'closed' })
  })

  test('a trial that shows nothing lets the next call try', () => {
    const { begun, call, clock, fail, stateOf } = instance()
    fail(5)
    clock.steadyMs += MINUTE_MS
    begun()?.('neither')
    expect(stateOf()).toEqual({ state: 'half-open', for: 'you' })
    expect(call('worked')).toBe('called')
    expect(stateOf()).toEqual({ state: 'closed' })
  })

  test('a trial that does not end keeps other calls out for a minute only', () => {
    const { begun, call, clock, fail } = instance()
    fail(5)
    clock.steadyMs += MINUTE_MS
    begun()
    clock.steadyMs += MINUTE_MS - 1
    expect(call('worked')).toBe('refused')
    clock.steadyMs += 1
    expect(call('worked')).toBe('called')
  })

  test('the end of a call that began before it opened changes nothing', () => {
    const { begun, clock, fail, stateOf } = instance()
    const older = Array.from({ length: 6 }, () => begun())
    fail(5)
    const open = stateOf()
    expect(open).toMatchObject({ state: 'open' })
    older.pop()?.('worked')
    expect(stateOf()).toEqual(open)
    clock.steadyMs += MINUTE_MS
    for (const end of older) end?.('failed')
    expect(stateOf()).toEqual({ state: 'half-open', for: 'you' })
  })
})

describe('the circuit for everybody', () => {
  test('opens when three users have met failures, and not earlier', () => {
    const { circuits, call, fail, stateOf } = instance()
    fail(5, 'ann')
    fail(5, 'bob')
    expect(stateOf('dan')).toEqual({ state: 'closed' })
    fail(5, 'cleo')
    expect(stateOf('dan')).toMatchObject({ state: 'open', for: 'everybody' })
    expect(call('worked', 'dan')).toBe('refused')
    expect([...circuits.openFor('dan')]).toEqual([`global ${DIGEST}`])
    expect(circuits.counts()).toEqual({ ofUsers: 3, ofEverybody: 1 })
  })

  test('stays closed while the tool fails for one user only, however often', () => {
    const { call, clock, fail } = instance()
    for (let n = 0; n < 10; n += 1) {
      fail(5, 'ann')
      clock.steadyMs += MINUTE_MS
    }
    expect(call('worked', 'bob')).toBe('called')
  })

  test('stays closed while the tool works for somebody', () => {
    const { call, fail, stateOf } = instance()
    fail(5, 'ann')
    fail(5, 'bob')
    call('worked', 'dan')
    fail(5, 'cleo')
    expect(stateOf('dan')).toEqual({ state: 'closed' })
  })

  test('counts no user who has met failures long ago', () => {
    const { clock, fail, stateOf } = instance()
    fail(5, 'ann')
    fail(5, 'bob')
    clock.steadyMs += 5 * MINUTE_MS
    fail(5, 'cleo')
    expect(stateOf('dan')).toEqual({ state: 'closed' })
  })

  test('opens for a minute, and then each user has a trial that says nothing about others', () => {
    const { begun, call, clock, fail, stateOf } = instance()
    for (const uid of ['ann', 'bob', 'cleo']) fail(5, uid)
    clock.steadyMs += MINUTE_MS
    expect(stateOf('ann')).toEqual({ state: 'half-open', for: 'you' })
    const end = begun('ann')
    expect(call('worked', 'dan')).toBe('called')
    end?.('failed')
    expect(stateOf('ann')).toMatchObject({ state: 'open', for: 'you' })
    expect(call('worked', 'bob')).toBe('called')
    expect([stateOf('bob'), stateOf('dan')]).toEqual([{ state: 'closed' }, { state: 'closed' }])
  })

  test('one user whose calls go on failing does not keep it open', () => {
    const { call, clock, fail } = instance()
    for (const uid of ['ann', 'bob', 'cleo']) fail(5, uid)
    const refused: number[] = []
    for (let ms = 0; ms < 60 * MINUTE_MS; ms += 200) {
      call('failed', 'ann')
      if (ms % 1_000 === 0 && call('neither', 'dan') === 'refused') refused.push(ms)
      clock.steadyMs += 200
    }
    expect(refused).toHaveLength(60)
    expect(refused.at(-1)).toBe(MINUTE_MS - 1_000)
  })

  test('opens again when the tool has failed for three users again', () => {
    const { call, clock, fail, stateOf } = instance()
    const users = ['ann', 'bob', 'cleo']
    for (const uid of users) fail(5, uid)
    clock.steadyMs += MINUTE_MS
    for (const uid of users) {
      expect(call('neither', 'dan')).toBe('called')
      call('failed', uid)
    }
    expect(stateOf('dan')).toMatchObject({ state: 'open', for: 'everybody' })
  })

  test('the failing tools of one user neither close it nor make forget whom else the tool has failed', () => {
    const { call, clock, fail, stateOf } = instance()
    fail(5, 'ann')
    fail(5, 'bob')
    for (let n = 0; n < 1_001; n += 1) fail(5, 'mallory', toolOf(`sha256:${n}`))
    fail(5, 'cleo')
    expect(stateOf('dan')).toMatchObject({ state: 'open', for: 'everybody' })
    for (let n = 0; n < 1_001; n += 1) fail(5, 'mallory', toolOf(`sha256:${n}-again`))
    expect(call('worked', 'dan')).toBe('refused')
    clock.steadyMs += MINUTE_MS
    expect(call('worked', 'dan')).toBe('called')
  })

  test('the copies that users have of a tool do not open it, nor the same definition in another layer', () => {
    const { circuits, call, fail, stateOf } = instance()
    const [own, ofFiles] = [toolOf(DIGEST, { layer: 'user' }), toolOf(DIGEST, { layer: 'file' })]
    for (const copy of [own, ofFiles]) {
      fail(5, 'ann', copy)
      fail(5, 'bob', copy)
    }
    fail(5, 'cleo', own)
    fail(5, 'eve', own)
    expect(call('worked', 'dan', own)).toBe('called')
    expect([...circuits.openFor('ann')]).toEqual([`user ${DIGEST}`, `file ${DIGEST}`])
    expect([stateOf('ann'), stateOf('dan')]).toEqual([{ state: 'closed' }, { state: 'closed' }])
    fail(5, 'cleo', ofFiles)
    expect(call('worked', 'dan', ofFiles)).toBe('refused')
    expect(call('worked', 'dan', own)).toBe('called')
    expect(call('worked', 'dan')).toBe('called')
  })

  test('the failures of a tool that gets a secret of its caller count for this user only', () => {
    const { call, fail } = instance()
    const mail = toolOf(DIGEST, { howRun: { ...PYTHON, secrets: ['HOST_KEY', 'caller:MAIL_KEY'] } })
    for (const uid of ['ann', 'bob', 'cleo', 'eve']) fail(5, uid, mail)
    expect([call('worked', 'dan', mail), call('worked', 'ann', mail)]).toEqual(['called', 'refused'])
  })
})

test('a wall clock that jumps neither opens nor closes a circuit', () => {
  const { call, clock, fail, stateOf } = instance()
  fail(3)
  clock.nowMs += 1_000 * MINUTE_MS
  fail(2)
  clock.nowMs -= 5_000 * MINUTE_MS
  expect(call('worked')).toBe('refused')
  expect(stateOf()).toMatchObject({ until: new Date(clock.nowMs + MINUTE_MS).toISOString() })
  clock.nowMs += 9_000 * MINUTE_MS
  expect(call('worked')).toBe('refused')
  clock.steadyMs += MINUTE_MS
  expect(call('worked')).toBe('called')
})

test('while the store is down, calls go on, circuits open at this instance, and the log says what is lost', async () => {
  const warnings: string[] = []
  const governance = faultyGovernance((name) => (name === 'circuits' ? new Error('down') : undefined))
  const circuits = new Circuits({
    documents: governance.documents(Date.now),
    now: Date.now,
    log: { warn: (message) => void warnings.push(message) },
  })
  for (const uid of ['ann', 'bob', 'cleo'])
    for (let n = 0; n < 5; n += 1) {
      const entered = circuits.enter(uid, TOOL)
      if (!('for' in entered)) circuits.leave(uid, TOOL, entered, 'failed')
    }
  await circuits.close()
  expect(circuits.enter('dan', TOOL)).toMatchObject({ for: 'everybody' })
  expect(warnings).toEqual([
    expect.stringContaining('could not be read'),
    expect.stringContaining('were not told'),
  ])
  await governance.close()
})

test('the memory is bounded: the last users, and the last failing tools of each, stay', () => {
  const { circuits, fail } = instance()
  const digests = Array.from({ length: 30 }, (_, n) => `sha256:${n}` as Digest)
  for (const digest of digests) fail(5, 'ann', toolOf(digest))
  expect([...circuits.openFor('ann')]).toEqual(digests.slice(-20).map((digest) => `global ${digest}`))
  for (let n = 0; n < 5_001; n += 1) fail(5, `user${n}`, toolOf(`sha256:of-${n}`))
  expect(circuits.counts()).toEqual({ ofUsers: 5_000, ofEverybody: 0 })
})
