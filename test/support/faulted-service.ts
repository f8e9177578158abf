import { jest } from '@jest/globals'
import { join } from 'node:path'
import type { CallRequest } from '../../functions/src/calls/call.ts'
import { embeddedGovernance } from '../../functions/src/hosts/local/governance.ts'
import { closeServices, createServices } from '../../functions/src/hosts/services.ts'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'
import { NewestLines } from '../../functions/src/stores/sqlite/newest-lines.ts'
import { SqliteAuditStore } from '../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { SqliteDefinitionStore } from '../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { SqliteInvocationLogs } from '../../functions/src/stores/sqlite/sqlite-invocation-logs.ts'
import { absentRunner, type RunnerCall } from '../../functions/src/catalog/definitions/runner.ts'
import { DatabaseFaults, type DatabaseFault } from './database-faults.ts'
import { newSealing } from './memory-governance.ts'
import { by } from './definition-changes.ts'
import { memoryAudit } from './memory-audit.ts'
import { putModule } from './module-changes.ts'
import { ANN, RAN } from './once.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** A rule that asks about the tool of a faulted service. */
export const ASKS = { default: 'allow', rules: [{ effect: 'ask', tool: 'm:send' }] } as const

export const EVERYBODY = {
  uid: ANN.uid,
  owner: { kind: 'everybody', id: 'all' },
  precondition: {},
} as const

/** Why a call or a write may be refused if a store fails. */
export const REFUSALS = ['STORE_FAILED', 'STORE_FULL', 'AUDIT_UNAVAILABLE', 'LAYER_UNAVAILABLE']

/**
 * The whole service over SQLite files that can be made to fail. It has one tool, `m:send`, about which a rule asks, and a runner
 * that counts what it runs.
 */
export async function faultedService() {
  const folder = temporaryFolder()
  const path = (name: string): string => join(folder.path, name)
  const clock = { nowMs: Date.now() }
  const now = (): number => clock.nowMs
  const ran: RunnerCall[] = []
  const faults = new DatabaseFaults()
  // Rules and definitions are read again after a second, so every call reads them.
  const monotonic = performance.now.bind(performance)
  let aheadMs = 0
  jest.spyOn(performance, 'now').mockImplementation(() => monotonic() + aheadMs)

  // The files of lines take nothing, as on a full disk. So every call writes into the databases before its answer.
  jest.spyOn(NewestLines.prototype, 'add').mockReturnValue(false)
  const governance = openGovernance(path('governance.sqlite'))
  const trail = memoryAudit({ store: new SqliteAuditStore(path('audit.sqlite')), mode: 'required', now })
  const definitions = new SqliteDefinitionStore(path('toolrack.db'))
  const services = createServices({
    now,
    store: () => definitions,
    files: () => ({
      read: () => Promise.resolve({ revision: 'f1', whole: true, definitions: [], deleted: [], skipped: [] }),
    }),
    governance: embeddedGovernance(governance, newSealing()),
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
    corsOrigins: [],
  })
  await definitions.writeModule({ kind: 'user', uid: ANN.uid }, putModule('m', ['send']), by(ANN.uid))
  await services.ruleWriter.put(EVERYBODY, ASKS)

  /** How a call ended: `run`, `replayed`, or a code. */
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

  /** The id of a new approval, which nobody has decided. */
  async function asked(): Promise<string> {
    await endOf(undefined)
    const [pending] = await services.approvals.list(ANN.uid)
    return pending?.id ?? ''
  }

  /** Approves a call, and replaces its arguments, of which it has none. */
  async function approve(id: string): Promise<string> {
    await services.approvals.decide(ANN.uid, id, { decision: 'once', arguments: {} })
    return id
  }

  async function stateOf(approval: string): Promise<string | undefined> {
    const all = await services.approvals.list(ANN.uid)
    return all.find(({ id }) => id === approval)?.state
  }

  /** What the stores do while this runs. It runs a few times before, because the first time is different. */
  async function operationsOf<T>(prepare: () => Promise<T>, act: (given: T) => Promise<unknown>) {
    for (let times = 0; times < 3; times += 1) await act(await prepare())
    const given = await prepare()
    faults.watch()
    await act(given)
    faults.stop()
    return faults.operations
  }

  async function close(): Promise<void> {
    faults[Symbol.dispose]()
    jest.restoreAllMocks()
    await closeServices(services)
    folder[Symbol.dispose]()
  }
  return {
    services,
    definitions,
    faults,
    clock,
    trail,
    ran,
    endOf,
    asked,
    approve,
    stateOf,
    operationsOf,
    close,
  }
}

/** Every fault of each of these operations. If `lasts` is among the choices, also all later operations fail. */
export function faultsOf(
  operations: readonly string[],
  lasting: readonly boolean[] = [false, true],
): readonly (readonly [string, DatabaseFault])[] {
  return operations.flatMap((sql, at) =>
    (['before', 'after'] as const).flatMap((when) =>
      (['I/O error', 'full disk'] as const).flatMap((what) =>
        lasting.map((lasts) => {
          const name = `${what} ${when} ${at} ${sql.slice(0, 60)}${lasts ? ', and from then on' : ''}`
          return [name, { at, when, what, lasts }] as const
        }),
      ),
    ),
  )
}
