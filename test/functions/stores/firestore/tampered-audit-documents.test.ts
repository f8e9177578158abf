import { expect, test } from '@jest/globals'
import type { Firestore } from '@google-cloud/firestore'
import { headText, TrailVerifier } from '../../../../functions/src/features/audit/verify-trail.ts'
import { FirestoreAuditStore } from '../../../../functions/src/stores/firestore/firestore-audit-store.ts'
import { TAMPERED_KEY, tamperableTrail, tampered } from '../../../support/audit-tamperings.ts'
import type { Row, Tables } from '../../../support/audit-tamperings.ts'
import { connectionTo, describeOnEmulator, newProject } from '../../../support/firestore-emulator.ts'

/** How many tamperings are tried. By hand: AUDIT_TAMPERINGS=1000, which takes some minutes. */
const ROUNDS = Number(process.env['AUDIT_TAMPERINGS'] ?? 60)

const COLLECTIONS = ['records', 'chains', 'manifests']

function collectionOf(firestore: Firestore, name: string) {
  return firestore.collection('toolrack').doc('audit').collection(name)
}

/** All documents. `id` is the id of the document, which a tampering can change as a field. */
async function documentsOf(firestore: Firestore): Promise<Tables> {
  const read = COLLECTIONS.map(async (name): Promise<[string, readonly Row[]]> => {
    const found = await collectionOf(firestore, name).get()
    return [name, found.docs.map((document) => ({ ...(document.data() as Row), id: document.id }))]
  })
  return Object.fromEntries(await Promise.all(read))
}

function textOf(tables: Tables): string {
  const rows = (name: string) => tables[name]?.map((row) => JSON.stringify(Object.entries(row).toSorted()))
  return JSON.stringify(COLLECTIONS.map((name) => rows(name)?.toSorted()))
}

/** Writes what differs. Of two documents with one id, the last stays. */
async function change(firestore: Firestore, from: Tables, to: Tables): Promise<void> {
  const batch = firestore.batch()
  for (const name of COLLECTIONS) {
    const before = new Map(from[name]?.map((row) => [row['id'], row]))
    const after = new Map(to[name]?.map((row) => [row['id'], row]))
    for (const id of before.keys())
      if (!after.has(id)) batch.delete(collectionOf(firestore, name).doc(String(id)))
    for (const [id, row] of after) {
      if (before.get(id) === row) continue
      const { id: _id, ...fields } = row
      batch.set(collectionOf(firestore, name).doc(String(id)), fields)
    }
  }
  await batch.commit()
}

describeOnEmulator('tampering with the audit trail on Firestore', () => {
  test(
    `each of ${ROUNDS} random tamperings of every field, document, day, head and manifest is found`,
    async () => {
      const connection = connectionTo(newProject())
      const store = new FirestoreAuditStore(connection, 'one')
      const trail = await tamperableTrail(store, 5)
      const { heads: ends, manifestHead, fault } = await trail.verify()
      expect(fault).toBeNull()
      const heads = [...ends.map(headText), manifestHead ?? '']
      const firestore = await connection.client()
      const whole = await documentsOf(firestore)
      const missed: string[] = []
      let rounds = 0
      for (let seed = 1; rounds < ROUNDS && seed < ROUNDS * 5; seed += 1) {
        const tampering = tampered(whole, seed)
        if (!tampering || /repeated/.test(tampering.what)) continue
        // Firestore takes no id with a slash.
        if (
          Object.values(tampering.tables)
            .flat()
            .some(({ id }) => String(id).includes('/'))
        )
          continue
        rounds += 1
        await change(firestore, whole, tampering.tables)
        const { fault: found } = await trail.verify()
        // A cut-off end is found with heads that were kept elsewhere.
        const verifier = new TrailVerifier({ publicKey: TAMPERED_KEY?.publicKey, heads })
        if (!found) for await (const line of trail.lines()) verifier.take(line)
        const now = await documentsOf(firestore)
        // The newest manifest, if it was removed, is signed again and is the same.
        if (!found && verifier.end().fault === null && textOf(now) !== textOf(whole))
          missed.push(tampering.what)
        await change(firestore, now, whole)
      }
      expect([rounds, missed]).toEqual([ROUNDS, []])
      expect((await trail.verify()).fault).toBeNull()
      await trail.close()
    },
    60_000 + ROUNDS * 1_000,
  )
})
