import { expect, test } from '@jest/globals'
import { ruleSetDigest, ruleSetsText } from '../../../../functions/src/features/rules/kept-rules.ts'
import { MARKS, RuleStore } from '../../../../functions/src/features/rules/rule-store.ts'
import { FirestoreDocuments } from '../../../../functions/src/stores/firestore/firestore-documents.ts'
import { featureStoresContract } from '../../../support/feature-stores.contract.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  newProject,
  openFirestore,
  twoFirestoreDocuments,
} from '../../../support/firestore-emulator.ts'

describeOnEmulatorByEach('what features keep in Firestore', (reading) => {
  featureStoresContract(() => twoFirestoreDocuments(reading))

  test('rules and marks that an earlier version stored are read where they are, and stay there', async () => {
    const set = { default: 'allow' as const, rules: [{ effect: 'deny' as const, tool: 'git:push' }] }
    const kept = { set, digest: ruleSetDigest(set), updatedAt: '', updatedBy: 'ann' }
    const text = ruleSetsText(new Map([['user/ann', kept]])) ?? ''
    const projectId = newProject()
    const firestore = openFirestore(projectId)
    const paths = ['users/ann/tools/rules', 'tools/rules', 'tools/marks']
    for (const path of paths) await firestore.doc(path).set({ text, writeId: 'earlier' })
    const connection = connectionTo(projectId, { reading })
    const store = new RuleStore(new FirestoreDocuments(connection))
    const scopes = [{ kind: 'user', uid: 'ann' } as const, { kind: 'everybody' } as const, MARKS]
    for (const scope of scopes) expect(await store.read(scope)).toBe(text)
    for (const scope of scopes) await store.change(scope, () => ({ text: '{"a":1}', result: undefined }))
    for (const path of paths)
      expect((await firestore.doc(path).get()).data()).toEqual({
        text: '{"a":1}',
        writeId: expect.any(String),
      })
    await connection.close()
    await firestore.terminate()
  })
})
