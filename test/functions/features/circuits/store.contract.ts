import { afterEach, expect, test } from '@jest/globals'
import type { Digest } from '@toolrack/contract'
import { Circuits } from '../../../../functions/src/features/circuits/circuits.ts'
import type { Documents } from '../../../../functions/src/documents/documents.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'

const MINUTE_MS = 60_000
const LOOK_MS = 10_000
const DIGEST: Digest = `sha256:${'a'.repeat(64)}`
const TOOL = { layer: 'global', digest: DIGEST, howRun: { by: 'builtin', builtin: () => ({}) } } as const

/** What instances tell each other of circuits over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })

  function instances() {
    const two = open()
    opened = two
    const [one, other] = ([0, 1] as const).map((at) => instance(two.documents[at], two.clocks[at]))
    if (!one || !other) throw new Error('there are two')
    return { one, other }
  }

  test('what is open for everybody at one instance is open at the other after at most ten seconds', async () => {
    const { one, other } = instances()
    await other.settled()
    for (const uid of ['ann', 'bob', 'cleo']) one.fail(uid)
    await one.settled()
    other.clock.steadyMs += LOOK_MS - 1
    await other.settled()
    expect(other.reads).toBe(1)
    expect(other.circuits.of('dan', TOOL)).toEqual({ state: 'closed' })
    other.clock.steadyMs += 1
    // The call that makes the instance look does not wait for the answer.
    expect(other.call('dan', 'neither')).toBe('called')
    await other.settled()
    expect(other.reads).toBe(2)
    expect(other.circuits.of('dan', TOOL)).toMatchObject({ state: 'open', for: 'everybody' })
    expect(other.call('dan', 'worked')).toBe('refused')
  })

  test('what is open for one user stays at its instance', async () => {
    const { one, other } = instances()
    one.fail('ann')
    await one.settled()
    await other.settled()
    expect(one.call('ann', 'worked')).toBe('refused')
    expect(other.call('ann', 'worked')).toBe('called')
  })

  test('what has ended at one instance is not opened again by old news', async () => {
    const { one, other } = instances()
    for (const uid of ['ann', 'bob', 'cleo']) one.fail(uid)
    await one.settled()
    await other.settled()
    expect(other.call('dan', 'worked')).toBe('refused')
    other.clock.steadyMs += MINUTE_MS
    // The wall clock of this instance stands still, so the circuit in the store does not end.
    expect(other.call('dan', 'worked')).toBe('called')
    await other.settled()
    expect(other.reads).toBe(2)
    expect(other.circuits.of('dan', TOOL)).toEqual({ state: 'closed' })
  })

  test('a clock that is an hour ahead opens the circuit for no longer than a minute', async () => {
    const { one, other } = instances()
    one.clock.nowMs += 60 * MINUTE_MS
    for (const uid of ['ann', 'bob', 'cleo']) one.fail(uid)
    await one.settled()
    await other.settled()
    expect(other.call('dan', 'worked')).toBe('refused')
    other.clock.steadyMs += MINUTE_MS
    // It reads the same news again, which are still in the future.
    await other.settled()
    expect(other.reads).toBe(2)
    expect(other.circuits.of('dan', TOOL)).toEqual({ state: 'closed' })
  })
}

/** Circuits of one instance over documents that it shares with others. */
function instance(documents: Documents, wall: { nowMs: number }) {
  const clock = Object.assign(wall, { steadyMs: 0 })
  const seen = { reads: 0 }
  const counted: Documents = {
    ...documents,
    change: (...asked) => documents.change(...asked),
    read(...asked) {
      seen.reads += 1
      return documents.read(...asked)
    },
  }
  const circuits = new Circuits({
    documents: counted,
    now: () => clock.nowMs,
    steadyMs: () => clock.steadyMs,
    log: {
      warn: (message) => {
        throw new Error(message)
      },
    },
  })
  function call(uid: string, verdict: 'worked' | 'failed' | 'neither'): 'called' | 'refused' {
    const entered = circuits.enter(uid, TOOL)
    if ('for' in entered) return 'refused'
    circuits.leave(uid, TOOL, entered, verdict)
    return 'called'
  }
  return {
    circuits,
    clock,
    call,
    get reads() {
      return seen.reads
    },
    fail(uid: string): void {
      for (let n = 0; n < 5; n += 1) call(uid, 'failed')
    },
    /** Looks, if it is time, and waits until what was read and written is done. */
    async settled(): Promise<void> {
      circuits.openFor('nobody')
      await circuits.close()
    },
  }
}
