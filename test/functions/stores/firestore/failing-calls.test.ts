import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import { Approvals } from '../../../../functions/src/features/approvals/approvals.ts'
import { RuleBook } from '../../../../functions/src/features/rules/rule-book.ts'
import { RuleWriter } from '../../../../functions/src/features/rules/rule-writer.ts'
import { featureStores } from '../../../support/feature-stores.ts'
import { firestoreGovernance } from '../../../../functions/src/hosts/firestore-governance.ts'
import {
  connectionTo,
  describeOnEmulator,
  EMULATOR,
  newProject,
} from '../../../support/firestore-emulator.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'
import { ANN, keyedCalls, MAIL } from '../../../support/once.ts'
import { TcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

const MINUTE_MS = 60_000
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** A request to Firestore that fails before it is made, or whose answer is lost. With `lasts`, all later ones fail before. */
type Fault = { readonly at: number; readonly when: 'before' | 'after'; readonly lasts: boolean }

describeOnEmulator('a call with a key and an approval while Firestore fails', () => {
  let service: Awaited<ReturnType<typeof serviceThrough>>
  let proxy: TcpProxy
  beforeAll(async () => {
    proxy = await TcpProxy.start(EMULATOR)
    service = await serviceThrough(proxy)
  })
  afterAll(async () => {
    await service.connection.close()
    await proxy[Symbol.asyncDispose]()
  })

  test.each([
    { when: 'before', lasts: false },
    { when: 'after', lasts: false },
    { when: 'after', lasts: true },
  ] as const)(
    'each of its requests fails $when it is done (and all later ones: $lasts): the call has an end, and runs once',
    async ({ when, lasts }) => {
      const { requestsOfACall, faulted } = service
      const requests = await requestsOfACall()
      expect(requests).toBeGreaterThanOrEqual(6)
      for (let at = 0; at < requests; at += 1) await faulted({ at, when, lasts })
    },
  )

  test('the answer to each of its commits is lost on the network', async () => {
    const { newKey, approved, endOf, endLater, stateOf, runs } = service
    using traffic = new FirestoreTraffic()
    const ends: string[] = []
    // The claim, the use of the approval, and the result.
    for (let lost = 1; lost <= 3; lost += 1) {
      const [key, approval, before] = [newKey(), await approved(), runs()]
      let commits = 0
      traffic.onRpc = (rpc) => {
        if (rpc === 'commit') commits += 1
        if (commits < lost) return
        // The network is back when the call has given the lost answer up and makes its next request.
        if (rpc === 'commit' && commits === lost) proxy.hold('answers')
        else void proxy.restore()
      }
      const first = await endOf(key, approval)
      traffic.onRpc = () => undefined
      await proxy.restore()
      ends.push(first)
      expect(runs() - before).toBe(first === 'run' ? 1 : 0)
      if (first === 'STORE_FAILED')
        await until(
          () => stateOf(approval),
          (state) => state === 'approved',
        )
      expect(['run', 'replayed']).toContain(await endLater(key, approval))
      expect(await endOf(newKey(), approval)).toBe('APPROVAL_CONFLICT')
      expect(runs() - before).toBe(1)
    }
    expect(ends).toEqual(['STORE_FAILED', 'STORE_FAILED', 'run'])
  })
})

/** What governs calls in a project of Firestore, behind this proxy, over a runner that counts what it runs. */
async function serviceThrough(proxy: TcpProxy) {
  const connection = connectionTo(newProject(), { address: proxy.address })
  const clock = { nowMs: Date.now(), checkedMs: 0 }
  const now = (): number => clock.nowMs
  const { watch, stop } = failing(connection.calls)
  const { rules, approvals: store, keys } = featureStores(firestoreGovernance(connection), now)
  const approvals = new Approvals({ store, now })
  const ruleBook = new RuleBook({ store: rules, log, now: () => clock.checkedMs })
  const { ask, ran } = keyedCalls(keys, undefined, { approvals, ruleBook })
  await new RuleWriter({ store: rules, book: ruleBook, now }).put(
    { uid: ANN.uid, owner: { kind: 'everybody', id: 'all' }, precondition: {} },
    { default: 'allow', rules: [{ effect: 'ask', tool: MAIL }] },
  )
  let count = 0
  const newKey = (): string => `key ${(count += 1)}`
  const runs = (): number => ran.length

  async function endOf(key: string | undefined, approval?: string): Promise<string> {
    // Every call reads the rules again.
    clock.checkedMs += 2_000
    const result = await ask(key, { approval })
    if (result.resultType === 'failure') return result.code
    return result.meta.replayed ? 'replayed' : 'run'
  }
  /** The end of the call when no other call with the key is under way, or its key is being released. */
  const endLater = (key: string, approval: string): Promise<string> =>
    until(
      () => endOf(key, approval),
      (end) => end !== 'CALL_IN_FLIGHT',
    )
  async function approved(): Promise<string> {
    await endOf(undefined)
    const [pending] = await approvals.list(ANN.uid)
    await approvals.decide(ANN.uid, pending?.id ?? '', { decision: 'once', arguments: {} })
    return pending?.id ?? ''
  }
  async function stateOf(approval: string): Promise<string | undefined> {
    return (await approvals.list(ANN.uid)).find(({ id }) => id === approval)?.state
  }
  async function requestsOfACall(): Promise<number> {
    // The first result of a user also looks for old ones.
    await endOf(newKey(), await approved())
    const approval = await approved()
    watch()
    expect(await endOf(newKey(), approval)).toBe('run')
    return stop()
  }
  async function faulted(fault: Fault): Promise<void> {
    const [key, approval, before] = [newKey(), await approved(), runs()]
    watch(fault)
    const first = await endOf(key, approval)
    expect(stop()).toBeGreaterThan(fault.at)
    expect(['run', 'STORE_FAILED']).toContain(first)
    expect(runs() - before).toBe(first === 'run' ? 1 : 0)
    if (first !== 'run' && !fault.lasts) {
      await until(
        () => stateOf(approval),
        (state) => state === 'approved',
      )
      expect(await endLater(key, approval)).toBe('run')
    }
    const isUsed = (await stateOf(approval)) === 'used'
    clock.nowMs += 2 * MINUTE_MS
    const later = await endOf(key, approval)
    expect(['run', 'replayed', 'UNKNOWN_OUTCOME', 'APPROVAL_CONFLICT']).toContain(later)
    await endOf(newKey(), approval)
    expect(await endOf(newKey(), approval)).toBe('APPROVAL_CONFLICT')
    // Only if the store stays lost, an approval stays used although nothing was run.
    expect(runs() - before).toBe(fault.lasts && first !== 'run' && isUsed ? 0 : 1)
  }
  return { connection, newKey, approved, endOf, endLater, stateOf, runs, requestsOfACall, faulted }
}

/** Lets the requests of the stores fail. Each of them passes `within`. */
function failing(calls: ReturnType<typeof connectionTo>['calls']) {
  const within = calls.within.bind(calls)
  let isWatching = false
  let fault: Fault | undefined
  let requests = 0
  calls.within = async (ms, act) => {
    if (!isWatching) return within(ms, act)
    const at = requests++
    if (fault?.lasts && at > fault.at) throw new ToolrackError('STORE_FAILED')
    if (fault?.at !== at) return within(ms, act)
    if (fault.when === 'after') await within(ms, act)
    throw new ToolrackError('STORE_FAILED')
  }
  return {
    watch: (wanted?: Fault): void => {
      fault = wanted
      requests = 0
      isWatching = true
    },
    /** Ends the fault. The number of requests since `watch`. */
    stop: (): number => {
      isWatching = false
      return requests
    },
  }
}
