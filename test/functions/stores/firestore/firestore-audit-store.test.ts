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
})
