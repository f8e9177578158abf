import { afterAll, expect, jest, test } from '@jest/globals'
import { join } from 'node:path'
import type { CallRequest } from '../../../../functions/src/calls/pipeline/call.ts'
import { closeServices, createServices } from '../../../../functions/src/hosts/services.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { SqliteApprovalStore } from '../../../../functions/src/stores/sqlite/sqlite-approval-store.ts'
import { SqliteAuditStore } from '../../../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { SqliteDefinitionStore } from '../../../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { SqliteIdempotencyKeys } from '../../../../functions/src/stores/sqlite/sqlite-idempotency-keys.ts'
import { SqliteInvocationLogs } from '../../../../functions/src/stores/sqlite/sqlite-invocation-logs.ts'
import { SqliteRuleStore } from '../../../../functions/src/stores/sqlite/sqlite-rule-store.ts'
import { absentRunner, type RunnerCall } from '../../../../functions/src/tools/modules/runner.ts'
import { DatabaseFaults, type DatabaseFault } from '../../../support/database-faults.ts'
import { by } from '../../../support/definition-changes.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { putModule } from '../../../support/module-changes.ts'
import { ANN, RAN } from '../../../support/once.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const MINUTE_MS = 60_000
const folder = temporaryFolder()
const path = (name: string): string => join(folder.path, name)
const clock = { nowMs: Date.now() }
const now = (): number => clock.nowMs
const ran: RunnerCall[] = []
const faults = new DatabaseFaults()

// Rules and definitions are read again after a second, so every call of this test reads them.
const monotonic = performance.now.bind(performance)
let aheadMs = 0
jest.spyOn(performance, 'now').mockImplementation(() => monotonic() + aheadMs)

const governance = openGovernance(path('governance.sqlite'))
const trail = memoryAudit({ store: new SqliteAuditStore(path('audit.sqlite')), mode: 'required', now })
const definitions = new SqliteDefinitionStore(path('toolrack.db'))
const services = createServices({
  now,
  store: () => definitions,
  files: () => ({
    read: () => Promise.resolve({ revision: 'f1', whole: true, definitions: [], deleted: [], skipped: [] }),
  }),
  governance: {
    keys: new SqliteIdempotencyKeys(governance, { now }),
    approvals: new SqliteApprovalStore(governance),
    rules: new SqliteRuleStore(governance),
    close: () => Promise.resolve(governance.close()),
  },
  logs: new SqliteInvocationLogs(path('invocations.db')),
  audit: trail,
  // It has never seen the module, as after a start.
  runner: {
    ...absentRunner('None.'),
    async invoke(call) {
      if ((await call.source()) === undefined) return { code: 'TOOL_NOT_FOUND', error: 'No module.' }
      ran.push(call)
      return RAN
    },
  },
  authenticate: () => Promise.resolve(ANN),
  signJobToken: undefined,
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  envelope: 'array',
  defaultWorkflow: 'w',
  corsOrigins: [],
})
afterAll(async () => {
  faults[Symbol.dispose]()
  await closeServices(services)
  folder[Symbol.dispose]()
})
await definitions.writeModule({ kind: 'user', uid: ANN.uid }, putModule('m', ['send']), by(ANN.uid))
await services.ruleWriter.put(
  { uid: ANN.uid, owner: { kind: 'everybody', id: 'all' }, precondition: {} },
  { default: 'allow', rules: [{ effect: 'ask', tool: 'm:send' }] },
)

let calls = 0

/** How the call ended: run now, replayed, or a code. */
async function endOf(key: string | undefined, approval?: string): Promise<string> {
  aheadMs += 2_000
  const request: CallRequest = {
    name: 'm:send',
    arguments: {},
    context: {},
    expectedDigest: undefined,
    approval,
  }
  const { result } = await services.invoker.invoke({
    principal: ANN,
    headers: { idempotencyKey: key, traceparent: undefined },
    signal: new AbortController().signal,
    read: () => request,
  })
  if (result.resultType === 'failure') return result.code
  return result.meta.replayed ? 'replayed' : 'run'
}

async function approved(): Promise<string> {
  await endOf(undefined)
  const [pending] = await services.approvals.list(ANN.uid)
  await services.approvals.decide(ANN.uid, pending?.id ?? '', { decision: 'once' })
  return pending?.id ?? ''
}

async function stateOf(approval: string): Promise<string | undefined> {
  const all = await services.approvals.list(ANN.uid)
  return all.find(({ id }) => id === approval)?.state
}

/** What the stores do in one call with a key and an approval. */
async function operationsOfACall(): Promise<readonly string[]> {
  for (let warm = 0; warm < 3; warm += 1) await endOf(`warm ${warm}`, await approved())
  const approval = await approved()
  faults.watch()
  expect(await endOf('whole', approval)).toBe('run')
  faults.stop()
  return faults.operations
}
const operations = await operationsOfACall()

test('a call reads and writes every store', () => {
  const texts = operations.join('\n')
  for (const table of [
    'definitions',
    'blobs',
    'rules',
    'call_keys',
    'call_results',
    'approvals',
    'records',
    'logs',
  ])
    expect(texts).toMatch(new RegExp(`(?:FROM|INTO|UPDATE) ${table}\\b`))
})

/** Every operation of the call fails once. */
const FAULTS: readonly (readonly [string, DatabaseFault])[] = operations.flatMap((name, at) =>
  (['before', 'after'] as const).flatMap((when) =>
    (['I/O error', 'full disk'] as const).flatMap((what) =>
      [false, true].map((lasts) => {
        const fault = { at, when, what, lasts }
        return [
          `${what} ${when} ${at} ${name.slice(0, 60)}${lasts ? ', and from then on' : ''}`,
          fault,
        ] as const
      }),
    ),
  ),
)

/** Why a call may be refused if a store fails. */
const REFUSALS = ['STORE_FAILED', 'STORE_FULL', 'AUDIT_UNAVAILABLE', 'LAYER_UNAVAILABLE']

/** What the key of a call answers for ever after. */
const FINAL = ['replayed', 'UNKNOWN_OUTCOME']

test.each(FAULTS)('%s: the call has an end, and runs once', async (_name, fault) => {
  const approval = await approved()
  const key = `key ${(calls += 1)}`
  const before = ran.length
  const runs = (): number => ran.length - before
  faults.watch(fault)
  const first = await endOf(key, approval)
  faults.stop()
  expect(faults.operations.length).toBeGreaterThan(fault.at)
  expect(['run', ...REFUSALS]).toContain(first)
  // A refusal has run nothing, and leaves the approval. Only if the store stays lost, nobody can give the approval back.
  expect(runs()).toBe(first === 'run' ? 1 : 0)
  const isUsed = (await stateOf(approval)) === 'used'
  if (first === 'run' || !fault.lasts) expect(isUsed).toBe(first === 'run')

  const second = await endOf(key, approval)
  expect(runs()).toBeLessThanOrEqual(1)
  // A fault that is over has left the key free, if nothing was run.
  if (first !== 'run' && !fault.lasts) expect(second).toBe('run')
  clock.nowMs += 2 * MINUTE_MS
  const third = await endOf(key, approval)
  // If the approval was not used, it is still there, and it is never used twice.
  const other = await endOf(`other ${key}`, approval)
  expect(await endOf(`third ${key}`, approval)).toBe('APPROVAL_CONFLICT')
  expect(['run', 'APPROVAL_CONFLICT', ...FINAL]).toContain(third)
  const expected = first !== 'run' && isUsed ? 0 : 1
  expect({ first, second, third, other, runs: runs() }).toMatchObject({ runs: expected })
  if (expected === 1) expect(FINAL).toContain(await endOf(key, approval))
})

test('the audit trail is whole after all faults', async () => {
  const report = await trail.verify()
  expect(report).toMatchObject({ fault: null })
})
