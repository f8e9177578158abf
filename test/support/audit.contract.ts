import { expect, test } from '@jest/globals'
import type { AuditStore } from '../../functions/src/features/audit/audit-store.ts'
import { AuditTrail } from '../../functions/src/features/audit/audit-trail.ts'
import { newAuditKey, parseAuditKey } from '../../functions/src/features/audit/manifest.ts'
import type { AuditEvent } from '../../functions/src/features/audit/record.ts'
import { headText } from '../../functions/src/features/audit/verify-trail.ts'

/** `again` opens the same records as another start of the service does. */
export type AuditHarness = {
  readonly store: AuditStore
  readonly again: () => Promise<AuditStore>
  readonly dispose?: () => void
}

export const event = (uid: string, changes: Partial<AuditEvent> = {}): AuditEvent => ({
  kind: 'call',
  principal: { kind: 'user', uid },
  outcome: 'ok',
  tool: 'weather',
  arguments: { city: `${uid} lives here` },
  ...changes,
})

const uidsOf = (texts: readonly string[]): string[] =>
  texts.map((text) => (JSON.parse(text) as { principal?: { uid: string } }).principal?.uid ?? 'erased')
const toolsOf = (texts: readonly string[]): unknown[] =>
  texts.map((text) => (JSON.parse(text) as { tool: string }).tool)

/** What an export of the whole trail has. */
export async function linesOf(trail: AuditTrail): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const line of trail.lines()) lines.push(line)
  return lines
}

const START_MS = Date.parse('2026-03-01T12:00:00Z')
const DAY_MS = 24 * 60 * 60 * 1_000

/** The tests that every AuditStore must pass. */
export function auditContract(open: () => Promise<AuditHarness>): void {
  const key = parseAuditKey(newAuditKey())
  const clock = { nowMs: START_MS }
  function trailOf(store: AuditStore, days = 90): AuditTrail {
    const log = { error: () => undefined, info: () => undefined }
    return new AuditTrail({ store, mode: 'required', log, key, days, now: () => clock.nowMs })
  }
  async function withTrail(act: (trail: AuditTrail, harness: AuditHarness) => Promise<void>, days?: number) {
    clock.nowMs = START_MS
    const harness = await open()
    const trail = trailOf(harness.store, days)
    try {
      await act(trail, harness)
      expect(trail.state.lost).toBe(0)
    } finally {
      await trail.close()
      harness.dispose?.()
    }
  }
  test('the grants of a call are kept in its record, and the chain verifies', () =>
    withTrail(async (trail, { store }) => {
      const grants = [
        { kind: 'network', value: 'api.example.com:8443' },
        { kind: 'packages', value: 'pandas[excel]>=2,<3; python_version < "3.12"' },
        { kind: 'secrets', value: 'PASSWORD' },
        { kind: 'secrets', value: 'caller:API_KEY' },
      ] as const
      await trail.record(() => event('ann', { grants }))
      const shaped = `sk-${'a1b2c3d4'.repeat(4)}`
      await trail.record(() => event('bob', { grants: [{ kind: 'network', value: shaped }] }))
      const texts = await store.texts({ instance: store.instance, day: '2026-03-01' }, 0, 9)
      const kept = texts.map((text) => (JSON.parse(text) as { grants?: unknown }).grants)
      expect(kept[0]).toEqual(grants)
      expect(JSON.stringify(kept[1])).toContain('redacted')
      expect(JSON.stringify(kept[1])).not.toContain(shaped)
      expect(await trail.verify()).toMatchObject({ fault: null, records: 2 })
    }))

  test('records are one chain for each day, and the chain goes on after a restart', () =>
    withTrail(async (trail, { store, again }) => {
      await Promise.all(['ann', 'bob', 'ann'].map((uid) => trail.record(() => event(uid))))
      expect(await store.head()).toMatchObject({ instance: store.instance, day: '2026-03-01', seq: 3 })
      const other = await again()
      const restarted = trailOf(other)
      await restarted.record(() => event('cid'))
      clock.nowMs += DAY_MS
      await restarted.record(() => event('dan'))
      const report = await restarted.verify()
      expect(report).toMatchObject({ fault: null, records: 5, manifests: 1 })
      expect(uidsOf(await other.texts({ instance: store.instance, day: '2026-03-01' }, 1, 1))).toEqual([
        'bob',
      ])
      await restarted.close()
    }))

  test('a page has the newest first, of one user or of all, by tool, outcome and time, and goes on at its end', () =>
    withTrail(async (trail, { store }) => {
      for (let index = 0; index < 6; index += 1) {
        clock.nowMs += 1_000
        const outcome = index % 3 === 0 ? 'TOOL_RAISED' : 'ok'
        await trail.record(() => event(index % 2 === 0 ? 'ann' : 'bob', { tool: `t${index}`, outcome }))
      }
      const all = async (query: object): Promise<unknown[]> => {
        const tools: unknown[] = []
        for (let before: string | undefined; ;) {
          const page = await store.page({ limit: 2, before, ...query })
          tools.push(...toolsOf(page.texts))
          before = page.before
          if (before === undefined) return tools
        }
      }
      expect(await all({})).toEqual(['t5', 't4', 't3', 't2', 't1', 't0'])
      expect(await all({ uid: 'ann' })).toEqual(['t4', 't2', 't0'])
      expect(await all({ uid: 'nobody' })).toEqual([])
      expect(await all({ outcome: 'TOOL_RAISED' })).toEqual(['t3', 't0'])
      expect(await all({ uid: 'bob', tool: 't3' })).toEqual(['t3'])
      expect(await all({ since: '2026-03-01T12:00:03.000Z', until: '2026-03-01T12:00:05.000Z' })).toEqual([
        't3',
        't2',
      ])
    }))

  test('a record with a place that is taken is refused, and nothing of its commit is written', () =>
    withTrail(async (trail, { store }) => {
      await trail.record(() => event('ann'))
      const sealed = {
        day: '2026-03-01',
        instance: store.instance,
        hash: 'h',
        kind: 'call',
        at: '',
        uid: 'x',
      } as const
      const more = { tool: null, outcome: 'ok', text: '{}' }
      await expect(
        store.append([
          { ...sealed, ...more, seq: 2 },
          { ...sealed, ...more, seq: 1 },
        ]),
      ).rejects.toThrow()
      expect(await store.texts({ instance: store.instance, day: '2026-03-01' }, 0, 9)).toHaveLength(1)
      expect(await trail.verify()).toMatchObject({ fault: null, records: 1 })
    }))

  test('the content of a user is erased, and the rest still verifies', () =>
    withTrail(async (trail, { store }) => {
      for (const uid of ['ann', 'bob', 'ann', 'ann']) await trail.record(() => event(uid))
      const before = await trail.verify('2026-03-01')
      expect(await trail.erase({ kind: 'user', uid: 'root' }, 'ann')).toEqual({ erased: 3 })
      const texts = await store.texts({ instance: store.instance, day: '2026-03-01' }, 0, 9)
      expect(texts.join('\n')).not.toContain('ann')
      expect(uidsOf(texts)).toEqual(['erased', 'bob', 'erased', 'erased', 'root'])
      expect((await store.page({ uid: 'ann', limit: 9 })).texts).toEqual([])
      expect(await trail.verify()).toMatchObject({ fault: null, records: 5, erased: 3 })
      clock.nowMs += DAY_MS
      await trail.record(() => event('bob'))
      expect(await trail.erase({ kind: 'user', uid: 'root' }, 'bob')).toEqual({ erased: 2 })
      expect(await trail.verify('2026-03-01')).toMatchObject({ fault: null, records: 5, erased: 4 })
      const lines = await linesOf(trail)
      expect(lines.join('\n')).toContain(before.heads[0]?.hash)
    }))

  test('days that are too old are removed whole, a record says so, and the rest still verifies', () =>
    withTrail(async (trail, { store }) => {
      for (let day = 0; day < 5; day += 1) {
        await trail.record(() => event('ann'))
        clock.nowMs += DAY_MS
      }
      await trail.record(() => event('ann'))
      await trail.maintain()
      expect(await store.days()).toEqual(['2026-03-04', '2026-03-05', '2026-03-06'])
      expect((await trail.verify()).fault).toBeNull()
      const page = await store.page({ limit: 20, uid: 'service' })
      expect(page.texts.join('')).toContain('"removed":["2026-03-0')
    }, 2))

  test('a clock that is set back breaks no chain, and adds nothing to a day with a manifest', () =>
    withTrail(async (trail) => {
      await trail.record(() => event('ann'))
      clock.nowMs += DAY_MS
      await trail.record(() => event('ann'))
      await trail.maintain()
      clock.nowMs -= DAY_MS + 60 * 60 * 1_000
      await trail.record(() => event('bob'))
      const report = await trail.verify()
      expect(report).toMatchObject({ fault: null, records: 3 })
      expect(report.heads.map(headText).at(-1)).toMatch(/\/2026-03-02\/2\//)
    }))
}
