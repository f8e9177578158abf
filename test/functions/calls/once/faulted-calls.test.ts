import { expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import { join } from 'node:path'
import type { IdempotencyKeys } from '../../../../functions/src/calls/once/idempotency-keys.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteIdempotencyKeys } from '../../../../functions/src/stores/sqlite/sqlite-idempotency-keys.ts'
import { withinMs } from '../../../../functions/src/within-ms.ts'
import { failed, keyedCalls, RAN } from '../../../support/once.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const CALLS = 10_000
const KEYS = 3_000
const AT_ONCE = 16
/** A call that has not ended after this time has lost its service. */
const LOST_MS = 200
const HOUR_MS = 60 * 60 * 1_000

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const random = randomNumbers(28)
let hasFaults = true
const happens = (chance: number): boolean => hasFaults && random() < chance

/** A function that sometimes fails before it does its work, and sometimes after it, when nobody knows that it was done. */
function lame<Args extends readonly unknown[], T>(act: (...args: Args) => Promise<T>) {
  return async (...args: Args): Promise<T> => {
    if (happens(0.05)) throw new ToolrackError('STORE_FAILED')
    const result = await act(...args)
    if (happens(0.05)) throw new ToolrackError('STORE_FAILED')
    return result
  }
}

function faulty({ claim, complete, release }: IdempotencyKeys): IdempotencyKeys {
  return { claim: lame(claim), complete: lame(complete), release: lame(release) }
}

test(`of ${CALLS} faulted calls no key runs twice, and each has an end`, async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const databases = [openGovernance(path), openGovernance(path)] as const
  const clock = { nowMs: Date.now() }
  const executions = new Map<unknown, number>()
  function instance(index: 0 | 1) {
    // The clocks of the two instances differ by up to an hour.
    const now = (): number => clock.nowMs + (index === 0 ? 0 : Math.floor(HOUR_MS * random()))
    const keys = new SqliteIdempotencyKeys(databases[index], { now, busyWaitMs: 10_000 })
    return keyedCalls(faulty(keys), async ({ arguments: { key } }) => {
      if (happens(0.1)) return failed(happens(0.5) ? 'RUNNER_BUSY' : 'RUNNER_UNAVAILABLE', false)
      await new Promise((resolve) => setImmediate(resolve))
      executions.set(key, (executions.get(key) ?? 0) + 1)
      if (happens(0.05)) return failed('WORKER_DIED', false)
      if (happens(0.05)) return failed('TOOL_RAISED', true)
      if (happens(0.05)) throw new Error('a bug')
      return happens(0.02) ? new Promise<never>(() => undefined) : RAN
    })
  }
  const [one, other] = [instance(0), instance(1)]
  const ends = new Map<string, number>()
  async function ask(key: number): Promise<string> {
    const call = happens(0.5) ? one.ask : other.ask
    const result = await withinMs(LOST_MS, call(`k${key}`, { args: { key } }), () => undefined)
    if (!result) return 'lost'
    return result.resultType === 'success' ? 'success' : result.code
  }
  let asked = 0
  async function work(): Promise<void> {
    while (asked < CALLS) {
      asked += 1
      const end = await ask(Math.floor(random() * KEYS))
      ends.set(end, (ends.get(end) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  // Without faults, and after every lease, each key has an end.
  hasFaults = false
  clock.nowMs += 3 * HOUR_MS
  const final = new Set<string>()
  for (let key = 0; key < KEYS; key += 1) final.add(await ask(key))
  expect([...final].toSorted()).toEqual(['TOOL_RAISED', 'UNKNOWN_OUTCOME', 'success'])
  expect([...executions.values()].filter((times) => times !== 1)).toEqual([])
  expect(executions.size).toBeGreaterThan(2_000)
  // Every fault has happened.
  const faults = ['RUNNER_BUSY', 'RUNNER_UNAVAILABLE', 'STORE_FAILED', 'WORKER_DIED', 'INTERNAL', 'lost']
  expect(faults.filter((fault) => !ends.has(fault))).toEqual([])
  for (const database of databases) database.close()
})
