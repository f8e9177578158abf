import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AuditTrail } from '../../functions/src/features/audit/audit-trail.ts'
import { newAuditKey, parseAuditKey } from '../../functions/src/features/audit/manifest.ts'
import type { AuditEvent } from '../../functions/src/features/audit/record.ts'
import { recordedArguments } from '../../functions/src/redaction/redact.ts'
import { NOT_SENSITIVE } from '../../functions/src/redaction/sensitive.ts'
import { TrailVerifier } from '../../functions/src/features/audit/verify-trail.ts'
import { RUNNING_CALLS, RunningCallsFile } from '../../functions/src/hosts/local/running-calls-file.ts'
import { SqliteAuditStore } from '../../functions/src/stores/sqlite/sqlite-audit-store.ts'
import type { Comparison } from '../measure/comparison.ts'
import type { Effort } from '../measure/load-rounds.ts'
import type { Measured } from '../measure/result.ts'
import { timedRounds } from '../measure/timed-rounds.ts'

const RECORDS = 100_000
const CALLS = 300
/** The most time that a record may add to a warm call, in microseconds. All steps of a call together may add 300. */
const RECORD_US_MAX = 300
/** The most time for the verification of RECORDS records, in microseconds. */
const VERIFY_US_MAX = 2_000_000

const RECORD = 'a record of a call'
const STARTED = 'the note of a call that starts, and its record'
const BARE = 'the same bytes in a bare SQLite file'
const VERIFY = 'verification of 100,000 records'

/** Measures the time that the audit trail adds to a call with the embedded store, and the time of a verification. */
export async function audit(_: string, { rounds: count }: Effort): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'toolrack-bench-audit-'))
  const log = { error: () => undefined, info: () => undefined }
  const key = parseAuditKey(newAuditKey())
  const trail = new AuditTrail({
    store: new SqliteAuditStore(join(folder, 'audit.sqlite')),
    mode: 'on',
    log,
    key,
    running: new RunningCallsFile(join(folder, RUNNING_CALLS), log),
  })
  const bare = new DatabaseSync(join(folder, 'bare.sqlite'))
  bare.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE lines (text TEXT)')
  const insert = bare.prepare('INSERT INTO lines VALUES (?)')
  try {
    for (let index = 0; index < RECORDS; index += 1) await trail.record(() => event(index))
    const lines: string[] = []
    for await (const line of trail.lines()) lines.push(line)
    const [line = ''] = lines
    const contenders = [
      { name: RECORD, calls: CALLS, call: () => trail.record(() => event(1)) },
      { name: STARTED, calls: CALLS, call: () => startAndEnd(trail) },
      { name: BARE, calls: CALLS, call: () => Promise.resolve(void insert.run(line)) },
      { name: VERIFY, calls: 1, call: () => Promise.resolve(verify(lines)) },
    ]
    return { rounds: await timedRounds(contenders, count), comparisons: COMPARISONS, sharesCores: true }
  } finally {
    await trail.close()
    bare.close()
    rmSync(folder, { recursive: true })
  }
}

async function startAndEnd(trail: AuditTrail): Promise<void> {
  const known = event(1)
  await trail.begin(() => ({ ...known, phase: 'start', outcome: 'started' }))
  await trail.record(() => known)
}

function verify(lines: readonly string[]): void {
  const verifier = new TrailVerifier()
  for (const line of lines) verifier.take(line)
  const { fault, records } = verifier.end()
  if (fault !== null || records !== RECORDS) throw new Error('the trail of the benchmark is not verified')
}

function event(days: number): AuditEvent {
  return {
    kind: 'call',
    principal: { kind: 'user', uid: 'ann' },
    outcome: 'ok',
    tool: 'weather:get_report',
    layer: 'user',
    digest: `sha256:${'a'.repeat(64)}`,
    decision: 'allow',
    ...recordedArguments({ city: 'Bern', days, note: 'see https://example.com/?page=2' }, NOT_SENSITIVE),
    durationMs: 1.234,
    isolation: 'L3',
    usage: { wallMs: 1, cpuMs: 1, maxRssBytes: 1 },
    invocationId: crypto.randomUUID(),
  }
}

const COMPARISONS: readonly Comparison[] = [
  { what: 'a record, median', metric: 'p50Us', unit: 'µs', ours: RECORD, goal: { atMost: RECORD_US_MAX } },
  { what: 'a record, median', metric: 'p50Us', unit: 'µs', ours: RECORD, against: BARE },
  {
    what: 'a record with the note before it, median',
    metric: 'p50Us',
    unit: 'µs',
    ours: STARTED,
    against: RECORD,
  },
  { what: 'verification', metric: 'p50Us', unit: 'µs', ours: VERIFY, goal: { atMost: VERIFY_US_MAX } },
]
