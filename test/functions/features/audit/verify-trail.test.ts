import { beforeAll, expect, test } from '@jest/globals'
import { createHash } from 'node:crypto'
import { canonicalJson, type JsonObject } from '@toolrack/contract'
import { newAuditKey, parseAuditKey } from '../../../../functions/src/features/audit/manifest.ts'
import {
  headText,
  TrailVerifier,
  type TrailReport,
} from '../../../../functions/src/features/audit/verify-trail.ts'
import { event, linesOf } from '../../../support/audit.contract.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { randomNumbers } from '../../../support/random-numbers.ts'

type Chained = JsonObject & { readonly prev: string; readonly hash: string }

const DAY_MS = 24 * 60 * 60 * 1_000
const key = parseAuditKey(newAuditKey())
/** Three days of records with their manifests, and a fourth day that is not over. */
let lines: readonly string[] = []

beforeAll(async () => {
  let nowMs = Date.parse('2026-03-01T08:00:00Z')
  const trail = memoryAudit({ key, now: () => nowMs })
  for (let day = 0; day < 4; day += 1, nowMs += DAY_MS) {
    for (let index = 0; index < 12; index += 1) {
      const args = { city: `Zürich \u2028 ${index}`, nested: { list: [1, 'two', null] } }
      await trail.record(() => event(`user${index % 3}`, { arguments: args, durationMs: index / 3 }))
    }
    await trail.maintain()
  }
  lines = await linesOf(trail)
  await trail.close()
})

function verified(
  changed: readonly string[],
  expected: ConstructorParameters<typeof TrailVerifier>[0] = {},
): TrailReport {
  const verifier = new TrailVerifier({ publicKey: key?.publicKey, ...expected })
  for (const line of changed) verifier.take(line)
  return verifier.end()
}
const without = (from: number, count = 1): readonly string[] => lines.toSpliced(from, count)
const faultOf = (
  changed: readonly string[],
  expected?: ConstructorParameters<typeof TrailVerifier>[0],
): string => {
  const { fault } = verified(changed, expected)
  return fault ? `${fault.line}: ${fault.place}: ${fault.reason}` : 'none'
}
/** The lines of a day, without its manifest. */
const ofDay =
  (day: string) =>
  (line: string): boolean =>
    line.includes(`"day":"${day}"`) && !line.includes('"chains"')

test('a whole trail is fine, and its hashes are those that anybody can compute', () => {
  expect(verified(lines)).toMatchObject({ fault: null, records: 48, manifests: 3, erased: 0 })
  const { hash, ...record } = JSON.parse(lines[5] ?? '') as Chained
  const sha256 = createHash('sha256').update(record.prev).update(canonicalJson(record)).digest('hex')
  expect(hash).toBe(sha256)
})

test('the first wrong record is named, with its line and the reason', () => {
  const half = lines.with(4, (lines[4] ?? '').slice(0, 80))
  expect(faultOf(half)).toMatch(/^5: .*not a whole record/)
  const changed = lines.with(4, (lines[4] ?? '').replace('"outcome":"ok"', '"outcome":"no"'))
  expect(faultOf(changed)).toMatch(/^5: record 5 of \S+\/2026-03-01: its content does not have its hash/)
  expect(faultOf(without(4))).toMatch(/^5: record 6 of \S+: record 5 is missing/)
  expect(faultOf(lines.with(4, lines[5] ?? '').with(5, lines[4] ?? ''))).toMatch(/^5: record 6 .*order/)
  expect(faultOf(lines.toSpliced(4, 0, lines[3] ?? ''))).toMatch(/^5: record 4 .*moved or repeated/)
  expect(faultOf(lines.filter((line) => !ofDay('2026-03-02')(line)))).toMatch(
    /chain \S+\/2026-03-02: .*all of its records are missing/,
  )
  const dayGone = lines.filter((line) => !line.includes('"day":"2026-03-02"'))
  expect(faultOf(dayGone)).toMatch(/manifest of 2026-03-03: the manifest before it was removed/)
  expect(faultOf(without(11))).toMatch(
    /chain \S+\/2026-03-01: its end was cut off: it has 11 records, and its manifest names 12/,
  )
})

test('a record that was replaced by another with a right hash is found at the next one', () => {
  const { hash: _hash, ...record } = JSON.parse(lines[4] ?? '') as Chained
  const body = canonicalJson({ ...record, outcome: 'forged' })
  const hash = createHash('sha256').update(record.prev).update(body).digest('hex')
  const forged = `${body.slice(0, -1)},"hash":"${hash}"}`
  expect(faultOf(lines.with(4, forged))).toMatch(/^6: record 6 .*one of the two was replaced/)
})

test('a cut end of a day without a manifest is found by a head that was kept elsewhere, and only so', () => {
  const { heads } = verified(lines)
  const kept = heads.map(headText)
  const end = lines.findLastIndex(ofDay('2026-03-04'))
  expect(verified(lines, { heads: kept }).fault).toBeNull()
  expect(verified(without(end)).fault).toBeNull()
  expect(faultOf(without(end), { heads: kept })).toMatch(
    /2026-03-04\/12\/[0-9a-f]{64}: this head was kept elsewhere/,
  )
})

test('manifests of another key, and records that only look erased, are found', () => {
  const other = parseAuditKey(newAuditKey())
  expect(faultOf(lines, { publicKey: other?.publicKey })).toMatch(/signature is not that of the key/)
  const { day, instance, prev, seq, hash } = JSON.parse(lines[4] ?? '') as Record<string, string>
  const erased = `${canonicalJson({ day, erased: true, instance, prev, seq } as JsonObject).slice(0, -1)},"hash":"${hash}"}`
  expect(faultOf(lines.with(4, erased))).toMatch(/^5: record 5 .*no erasure in the trail names it/)
})

test('each of 1,000 random tamperings is found', () => {
  const random = randomNumbers(20_260_301)
  const below = (most: number): number => Math.floor(random() * most)
  const last = lines.findLastIndex(ofDay('2026-03-03')) + 1
  const missed: string[] = []
  for (let round = 0; round < 1_000; round += 1) {
    const at = below(lines.length)
    const line = lines[at] ?? ''
    const bytes = Buffer.from(line)
    const byte = below(bytes.length)
    const kinds: readonly (() => readonly string[])[] = [
      () => lines.with(at, Buffer.from(bytes.with(byte, (bytes[byte] ?? 0) ^ (1 << below(7)))).toString()),
      () => lines.with(at, line.slice(0, below(line.length))),
      // A record at the end of a day that is not over can be removed without a trace.
      () => without(below(last)),
      () => {
        const other = (at + 1 + below(last - 2)) % last
        const one = at % last
        return lines.with(one, lines[other] ?? '').with(other, lines[one] ?? '')
      },
      () => lines.toSpliced(below(last), 0, lines[below(last)] ?? ''),
    ]
    const kind = round % kinds.length
    const changed = kinds[kind]?.() ?? []
    if (changed.join('\n') !== lines.join('\n') && verified(changed).fault === null)
      missed.push(`${kind} ${at} ${byte}`)
  }
  expect(missed).toEqual([])
})
