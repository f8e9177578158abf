import { AuditTrail } from '../../functions/src/features/audit/audit-trail.ts'
import type { AuditStore } from '../../functions/src/features/audit/audit-store.ts'
import { newAuditKey, parseAuditKey } from '../../functions/src/features/audit/manifest.ts'
import { event } from './audit.contract.ts'
import { randomNumbers } from './random-numbers.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
export const TAMPERED_KEY = parseAuditKey(newAuditKey())

/** Four days of records, of which three have a manifest. On the last day, one user's records are erased. */
export async function tamperableTrail(store: AuditStore, perDay: number): Promise<AuditTrail> {
  let nowMs = Date.parse('2026-03-01T08:00:00Z')
  const log = { error: () => undefined, info: () => undefined }
  const trail = new AuditTrail({ store, mode: 'required', log, key: TAMPERED_KEY, now: () => nowMs })
  for (let day = 0; day < 4; day += 1, nowMs += DAY_MS) {
    for (let index = 0; index < perDay; index += 1)
      await trail.record(() => event(`user${index % 3}`, { tool: index % 2 === 0 ? null : 'weather' }))
    if (day < 3) await trail.maintain()
  }
  nowMs -= DAY_MS
  await trail.erase({ kind: 'user', uid: 'root' }, 'user2')
  return trail
}

export type Row = Readonly<Record<string, string | number | null>>
/** The rows of each table, or the documents of each collection. */
export type Tables = Readonly<Record<string, readonly Row[]>>

/**
 * A random change of the stored trail: a field of a row, two rows exchanged, one removed, repeated, added or replaced, a whole day
 * removed, or an end cut off. Undefined if it changes nothing.
 */
export function tampered(tables: Tables, seed: number): { what: string; tables: Tables } | undefined {
  const random = randomNumbers(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const table = one(Object.keys(tables))
  const rows = tables[table] ?? []
  const at = below(rows.length)
  const row = rows[at] as Row
  const other = one(rows)
  const columns = Object.keys(row)
  const column = one(columns)
  const kinds: Readonly<Record<string, () => readonly Row[]>> = {
    'a changed field': () => rows.with(at, { ...row, [column]: changed(row[column] ?? null, below) }),
    "another row's field": () => rows.with(at, { ...row, [column]: other[column] ?? null }),
    'two fields exchanged': () => {
      const from = rows.indexOf(other)
      const swapped = rows.with(at, { ...row, [column]: other[column] ?? null })
      return from === at ? rows : swapped.with(from, { ...other, [column]: row[column] ?? null })
    },
    'a removed row': () => rows.toSpliced(at, 1),
    'an added row': () => [...rows, { ...row, [column]: changed(row[column] ?? null, below) }],
    'a repeated row': () => [...rows, row],
    'a removed day': () => rows.filter(({ day }) => day !== row['day']),
    'an end that is cut off': () =>
      rows.filter(({ day, seq }) => day !== row['day'] || Number(seq) < Number(row['seq'])),
    'a row without its content': () =>
      row['text'] === undefined
        ? rows
        : rows.with(at, { ...row, text: String(row['text']).slice(0, below(80)) }),
  }
  const kind = one(Object.keys(kinds))
  const after = kinds[kind]?.() ?? rows
  const key = (list: readonly Row[]): string =>
    JSON.stringify(list.map((each) => JSON.stringify(each)).toSorted())
  if (key(after) === key(rows)) return undefined
  return {
    what: `seed ${seed}: ${kind}, table ${table}, row ${at}, ${column}`,
    tables: { ...tables, [table]: after },
  }
}

function changed(value: string | number | null, below: (most: number) => number): string | number | null {
  if (typeof value === 'number') return value + 1 + below(3)
  if (value === null || value === '') return 'x'
  const at = below(value.length)
  const bit = String.fromCharCode(value.charCodeAt(at) ^ (1 << below(5)))
  return value.slice(0, at) + bit + value.slice(at + 1)
}
