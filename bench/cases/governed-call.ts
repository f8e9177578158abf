import { newSealing } from '../../test/support/memory-governance.ts'
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { OwnedRules, RuleOwner } from '@toolrack/contract'
import type { Principal } from '../../functions/src/access/principal.ts'
import { AuditTrail } from '../../functions/src/features/audit/audit-trail.ts'
import type { InvocationLogs } from '../../functions/src/calls/invocation-logs.ts'
import { ruleSetDigest, ruleSetsText } from '../../functions/src/features/rules/kept-rules.ts'
import { createApp } from '../../functions/src/hosts/services.ts'
import { openGovernanceFile, openLogs, openStore } from '../../functions/src/hosts/local/open-databases.ts'
import { featureStores } from '../../test/support/feature-stores.ts'
import { embeddedGovernance } from '../../functions/src/hosts/local/governance.ts'
import { listen, stopListening } from '../../functions/src/hosts/local/listen.ts'
import { RUNNING_CALLS, RunningCallsFile } from '../../functions/src/hosts/local/running-calls-file.ts'
import { OWN_DEFS_DIR, parseConfig } from '../../functions/src/hosts/config.ts'
import { closeServices, createServices } from '../../functions/src/hosts/services.ts'
import { FileLayer } from '../../functions/src/stores/files/file-layer.ts'
import { SqliteAuditStore } from '../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import type { Round } from '../measure/round.ts'
import { timedInTurns } from '../measure/timed-rounds.ts'
import { commitsIn } from '../measure/commits.ts'
import { keepAliveClient } from '../processes/keep-alive-client.ts'

const CALLS = 150
/** The number of calls while commits are counted: so few that a checkpoint rarely resets the write-ahead log meanwhile. */
const COUNTED_CALLS = 20
/** The pause between counted calls. In it the service commits what the call has written, so no call shares its commit with the next. */
const COUNTED_PAUSE_MS = 20
/** The most time that all steps may add to a warm call, in microseconds, and the most commits. */
const MORE_US_MAX = 300
const COMMITS_MAX = 1
/** The largest ratio of a list with rules to the same list without rules. Other work of the machine hides smaller differences. */
const LIST_RATIO_MAX = 1.05

const GOVERNED = 'a call with all steps'
const BARE = 'the same call without rules, audit and kept calls'
const UNNOTED = 'the same call without the note of its start'
const KEYED = 'a call with all steps and an Idempotency-Key'
const LIST = 'a list with rules'
const BARE_LIST = 'the same list without rules'

const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: false }
const NO_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }
const DATABASES = ['governance.sqlite', 'audit.sqlite', 'invocations.db', 'toolrack.db']
const CALL = { name: 'ECHO', arguments: { text: 'Can you hear me?' } }

/**
 * Measures the time that rules, the audit trail and kept calls add to a warm call of a built-in tool and to a warm list, with the
 * embedded store.
 */
export async function governedCall(folder: string, { rounds: count }: Effort): Promise<Measured> {
  const ours = join(folder, 'governed')
  await using governed = await service(ours, { isGoverned: true, isNoted: true })
  await using unnoted = await service(join(folder, 'unnoted'), { isGoverned: true, isNoted: false })
  // A separate service for calls with a key, so that `governed` and `unnoted` have kept equally many calls.
  await using keyed = await service(join(folder, 'keyed'), { isGoverned: true, isNoted: true })
  await using plain = await service(join(folder, 'bare'), { isGoverned: false, isNoted: false })
  let key = 0
  const list = '/workflows/tools/list'
  const contenders = [
    { name: GOVERNED, calls: CALLS, call: () => governed.invoke() },
    { name: UNNOTED, calls: CALLS, call: () => unnoted.invoke() },
    { name: BARE, calls: CALLS, call: () => plain.invoke() },
    { name: KEYED, calls: CALLS, call: () => keyed.invoke(`key ${(key += 1)} ${performance.now()}`) },
    { name: LIST, calls: CALLS, call: () => governed.client.send('GET', list) },
    { name: BARE_LIST, calls: CALLS, call: () => plain.client.send('GET', list) },
  ]
  for (const { call } of contenders) for (let warm = 0; warm < CALLS; warm += 1) await call()
  const commits = await commitsOf(ours, () => governed.invoke())
  const rounds = await timedInTurns(contenders, count)
  return {
    rounds: rounds.map((round) => withMore(round, commits)),
    comparisons: COMPARISONS,
    sharesCores: true,
  }
}

/**
 * The commits to disk of one call, as the databases count them. The least of several counts, because about once in seventy calls
 * another commit makes rows of the history.
 */
async function commitsOf(folder: string, call: () => Promise<void>): Promise<number> {
  const counted = (): number => DATABASES.reduce((sum, name) => sum + commitsIn(join(folder, name)), 0)
  const counts: number[] = []
  for (let tries = 0; tries < 5; tries += 1) {
    const before = counted()
    for (let calls = 0; calls < COUNTED_CALLS; calls += 1) {
      await call()
      await pause(COUNTED_PAUSE_MS)
    }
    const more = counted() - before
    // If the number is lower than before, a checkpoint has reset a log.
    if (more > 0) counts.push(more / COUNTED_CALLS)
  }
  if (counts.length === 0) throw new Error('the commits of calls could not be counted')
  return Math.min(...counts)
}

type Kind = { readonly isGoverned: boolean; readonly isNoted: boolean }

async function service(folder: string, { isGoverned, isNoted }: Kind) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const governance = embeddedGovernance(openGovernanceFile(folder), newSealing())
  const audit = isGoverned
    ? new AuditTrail({
        store: new SqliteAuditStore(join(folder, 'audit.sqlite')),
        running: isNoted ? new RunningCallsFile(join(folder, RUNNING_CALLS), NO_LOG) : undefined,
        mode: 'on',
        log: NO_LOG,
      })
    : undefined
  if (isGoverned) {
    const { rules } = featureStores(governance, Date.now)
    await rules.change({ kind: 'everybody' }, () => kept({ kind: 'everybody', id: 'all' }))
    await rules.change({ kind: 'user', uid: 'ann' }, () => kept({ kind: 'user', id: 'ann' }))
  }
  const config = parseConfig({})
  const store = openStore(folder, config.storeBytesMax)
  const logs = openLogs(folder, config.logBounds)
  const services = createServices({
    authenticate: () => ANN,
    store: () => store,
    files: (compilers) => new FileLayer(config.definitionsFolder, compilers, { ownFolder: OWN_DEFS_DIR }),
    governance,
    audit,
    operatorRules: isGoverned ? rulesOf({ kind: 'everybody', id: 'file' }) : undefined,
    logs: isGoverned ? logs : notKept(logs),
    runner: absentRunner('No runner belongs to this benchmark.'),
    signJobToken: undefined,
    log: NO_LOG,
    corsOrigins: [],
  })
  await services.catalog.load()
  const listening = await listen(createApp(services), '127.0.0.1', 0)
  const port = Number(new URL(listening.url).port)
  const client = await keepAliveClient(port)
  return {
    client,
    async invoke(key?: string): Promise<void> {
      const headers = key === undefined ? {} : { 'Idempotency-Key': key }
      const answer = JSON.stringify(await client.send('POST', '/workflows/tools/invoke', CALL, headers))
      assert.ok(answer.includes('"success"'), answer)
    },
    [Symbol.asyncDispose]: async () => {
      client.close()
      await stopListening(listening)
      await closeServices(services)
    },
  }
}

/** The same logs, but `keep` keeps nothing. */
function notKept(logs: InvocationLogs): InvocationLogs {
  return new Proxy(logs, {
    get: (of, name) => (name === 'keep' ? () => Promise.resolve() : Reflect.get(of, name, of)),
  })
}

/** Rules that allow the call. Several of them are about its tool, and some have globs for its arguments. */
function rulesOf(owner: RuleOwner): OwnedRules {
  const rules = [
    { effect: 'deny', tool: 'git:*' },
    { effect: 'deny', tool: '*', args: { text: 'rm *' } },
    { effect: 'ask', tool: '*', args: { path: 'secrets/**', text: '*password*' } },
    { effect: 'allow', tool: 'ECHO', args: { text: 'Can *' } },
  ] as const
  return { owner, set: { default: 'allow', rules } }
}

function kept(owner: RuleOwner) {
  const { set } = rulesOf(owner)
  const rules = { set, digest: ruleSetDigest(set), updatedAt: '', updatedBy: 'ann' }
  return { text: ruleSetsText(new Map([[`${owner.kind}/${owner.id}`, rules]])), result: undefined }
}

/** The round, with the commits of a call, and with the time that the steps add: the difference of the medians. */
function withMore(round: Round, commits: number): Round {
  const [ours, bare] = [round[GOVERNED], round[BARE]]
  assert.ok(ours && bare)
  const moreUs = (ours['p50Us'] ?? 0) - (bare['p50Us'] ?? 0)
  return { ...round, [GOVERNED]: { ...ours, moreUs, commits } }
}

const COMPARISONS: readonly Comparison[] = [
  {
    what: 'what all steps add to a warm call, median',
    metric: 'moreUs',
    unit: 'µs',
    ours: GOVERNED,
    goal: { atMost: MORE_US_MAX },
  },
  {
    what: 'commits to disk of a call',
    metric: 'commits',
    unit: 'times',
    ours: GOVERNED,
    goal: { atMost: COMMITS_MAX },
  },
  { what: 'a warm call, median', metric: 'p50Us', unit: 'µs', ours: GOVERNED, against: BARE },
  { what: 'a warm call, median', metric: 'p50Us', unit: 'µs', ours: GOVERNED, against: UNNOTED },
  { what: 'a warm call with a key, median', metric: 'p50Us', unit: 'µs', ours: KEYED, against: BARE },
  {
    what: 'a warm list, median',
    metric: 'p50Us',
    unit: 'µs',
    ours: LIST,
    against: BARE_LIST,
    goal: { atMost: LIST_RATIO_MAX },
  },
]
