import { expect, test } from '@jest/globals'
import { FirestoreAuditStore } from '../../../../functions/src/stores/firestore/firestore-audit-store.ts'
import { auditContract, event } from '../../../support/audit.contract.ts'
import { connectionTo, describeOnEmulator, newProject } from '../../../support/firestore-emulator.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'

describeOnEmulator('the audit trail on Firestore', () => {
  auditContract(() => {
    const projectId = newProject()
    const open = (): FirestoreAuditStore => new FirestoreAuditStore(connectionTo(projectId), 'one')
    return Promise.resolve({ store: open(), again: () => Promise.resolve(open()) })
  })

  test('several instances write chains of their own at the same time, and one verification covers all', async () => {
    const projectId = newProject()
    const trails = Array.from({ length: 3 }, () =>
      memoryAudit({ store: new FirestoreAuditStore(connectionTo(projectId)) }),
    )
    await Promise.all(
      trails.flatMap((trail, index) =>
        Array.from({ length: 40 }, () => trail.require(() => event(`user${index}`))),
      ),
    )
    const [first] = trails
    const report = await first?.verify()
    expect(report).toMatchObject({ fault: null, records: 120 })
    expect(report?.heads.map(({ seq }) => seq)).toEqual([40, 40, 40])
    await Promise.all(trails.map((trail) => trail.close()))
  })

  test('a removed record, and a removed end, are found', async () => {
    for (const seqs of [[3], [9, 10]]) {
      const connection = connectionTo(newProject())
      const store = new FirestoreAuditStore(connection)
      const trail = memoryAudit({ store, mode: 'required' })
      for (let index = 0; index < 10; index += 1) await trail.record(() => event('ann'))
      const day = (await store.days())[0] ?? ''
      const records = (await connection.client()).collection('toolrack').doc('audit').collection('records')
      for (const seq of seqs) await records.doc(`${day}.${store.instance}.${seq}`).delete()
      expect((await trail.verify(day)).fault).not.toBeNull()
      await trail.close()
    }
  })

  test('a removal of old days takes as long as there are records, whatever a changed head says', async () => {
    const connection = connectionTo(newProject())
    const store = new FirestoreAuditStore(connection)
    const audit = (await connection.client()).collection('toolrack').doc('audit')
    const chain = { instance: store.instance, day: '2026-01-01' }
    const records = Array.from({ length: 401 }, (_, index) => ({ ...chain, seq: index + 1 }))
    const more = { hash: 'h', kind: 'call', at: '', uid: 'x', tool: null, outcome: 'ok', text: '{}' } as const
    for (const from of [0, 400])
      await store.append(records.slice(from, from + 400).map((record) => ({ ...record, ...more })))
    const later = { ...chain, ...more, day: '2026-01-02', seq: 1 }
    await store.append([later])
    const head = audit.collection('chains').doc(`${chain.day}.${chain.instance}`)
    await head.update({ seq: Number.MAX_SAFE_INTEGER })
    await store.removeBefore('2026-01-02')
    expect(await store.count()).toBe(1)
    expect(await store.days()).toEqual(['2026-01-02'])
    await store.close()
  })

  test('a removal that was broken off is finished by the next one, and the record of the first names all days', async () => {
    const connection = connectionTo(newProject())
    const store = new FirestoreAuditStore(connection, 'one')
    const clock = { nowMs: Date.parse('2026-03-01T12:00:00Z') }
    const trail = memoryAudit({ store, mode: 'required', days: 2, now: () => clock.nowMs })
    await trail.record(() => event('ann'))
    await trail.maintain()
    clock.nowMs += 5 * 24 * 60 * 60 * 1_000
    const { removeBefore } = store
    // The heads are gone, and the connection breaks before the records are.
    store.removeBefore = async () => {
      const chains = (await connection.client()).collection('toolrack').doc('audit').collection('chains')
      await chains.doc('2026-03-01.one').delete()
      throw new Error('broken off')
    }
    await trail.record(() => event('ann'))
    await expect(trail.maintain()).rejects.toThrow('broken off')
    store.removeBefore = removeBefore
    expect(await trail.verify()).toMatchObject({ fault: null, records: 2 })
    expect(await store.count()).toBe(2)
    expect((await store.page({ limit: 9, uid: 'service' })).texts.join()).toContain(
      '"removed":["2026-03-01"]',
    )
    await trail.close()
  })
})
