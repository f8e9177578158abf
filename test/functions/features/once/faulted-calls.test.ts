import { expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import { AsyncLocalStorage } from 'node:async_hooks'
import { join } from 'node:path'
import { IdempotencyKeys, type CallKeys } from '../../../../functions/src/features/once/idempotency-keys.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteDocuments } from '../../../../functions/src/stores/sqlite/sqlite-documents.ts'
import { failed, keyedCalls, RAN } from '../../../support/once.ts'
import { randomNumbers } from '../../../support/random-numbers.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const CALLS = 10_000
const AT_ONCE = 16
const HOUR_MS = 60 * 60 * 1_000

/** What a key answers for ever after. */
const FINAL = ['TOOL_RAISED', 'UNKNOWN_OUTCOME', 'success']
/** How a call ends because of a fault. */
const FAULTS = ['RUNNER_BUSY', 'RUNNER_UNAVAILABLE', 'STORE_FAILED', 'WORKER_DIED', 'INTERNAL', 'lost']

/** Loses the service of the call that runs. */
const losing = new AsyncLocalStorage<() => void>()

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

function faulty({ claim, complete, read, release }: CallKeys): CallKeys {
  return { claim: lame(claim), complete: lame(complete), read: lame(read), release: lame(release) }
}

test.each([3_000, 1])(
  `of ${CALLS} faulted calls with %d keys no key runs twice, and each has an end`,
  async (keyCount) => {
    hasFaults = true
    using folder = temporaryFolder()
    const path = join(folder.path, 'governance.sqlite')
    const databases = [openGovernance(path), openGovernance(path)] as const
    using _ = { [Symbol.dispose]: () => databases.forEach((database) => database.close()) }
    const clock = { nowMs: Date.now() }
    const executions = new Map<unknown, number>()
    function instance(index: 0 | 1) {
      // The clocks of the two instances differ by up to an hour.
      const now = (): number => clock.nowMs + (index === 0 ? 0 : Math.floor(HOUR_MS * random()))
      const keys = new IdempotencyKeys(new SqliteDocuments(databases[index], { now, busyWaitMs: 10_000 }), {
        now,
      })
      return keyedCalls(faulty(keys), async ({ arguments: { key } }) => {
        if (happens(0.1)) return failed(happens(0.5) ? 'RUNNER_BUSY' : 'RUNNER_UNAVAILABLE', false)
        await new Promise((resolve) => setImmediate(resolve))
        executions.set(key, (executions.get(key) ?? 0) + 1)
        if (happens(0.05)) return failed('WORKER_DIED', false)
        if (happens(0.05)) return failed('TOOL_RAISED', true)
        if (happens(0.05)) throw new Error('a bug')
        if (!happens(0.02)) return RAN
        // The service is lost: its caller gets no answer, and nothing after the run is done.
        losing.getStore()?.()
        return new Promise<never>(() => undefined)
      })
    }
    const [one, other] = [instance(0), instance(1)]
    const ends = new Map<string, number>()
    async function ask(key: number): Promise<string> {
      const { ask: call } = happens(0.5) ? one : other
      const { promise: lost, resolve: lose } = Promise.withResolvers<undefined>()
      const ended = losing.run(
        () => lose(undefined),
        () => call(`k${key}`, { args: { key } }),
      )
      // Only a call whose service was lost has no end. If another one has none, this test waits for it until its time is over.
      const result = await Promise.race([ended, lost])
      if (!result) return 'lost'
      return result.resultType === 'success' ? 'success' : result.code
    }
    let asked = 0
    async function work(): Promise<void> {
      while (asked < CALLS) {
        asked += 1
        const end = await ask(Math.floor(random() * keyCount))
        ends.set(end, (ends.get(end) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    // Without faults, and after every lease, each key has an end.
    hasFaults = false
    clock.nowMs += 3 * HOUR_MS
    const final = new Set<string>()
    for (let key = 0; key < keyCount; key += 1) final.add(await ask(key))
    expect([...final].filter((end) => !FINAL.includes(end))).toEqual([])
    expect([...executions.values()].filter((times) => times !== 1)).toEqual([])
    // Every call has one of the known ends, and with many keys every fault has happened.
    expect([...ends.keys()].filter((end) => ![...FINAL, ...FAULTS, 'CALL_IN_FLIGHT'].includes(end))).toEqual(
      [],
    )
    expect([...ends.values()].reduce((sum, times) => sum + times, 0)).toBe(CALLS)
    if (keyCount === 1) return
    expect(executions.size).toBeGreaterThan(2_000)
    expect(FINAL.filter((end) => !final.has(end))).toEqual([])
    expect(FAULTS.filter((fault) => !ends.has(fault))).toEqual([])
  },
)
