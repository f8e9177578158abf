import { expect, test } from '@jest/globals'
import { FirestoreConnection } from '../../../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreIdempotencyKeys } from '../../../../functions/src/stores/firestore/firestore-idempotency-keys.ts'
import { connectionTo, describeOnEmulator, newProject } from '../../../support/firestore-emulator.ts'
import { ann, claimOf, idempotencyKeysContract } from '../../../support/idempotency-keys.contract.ts'

describeOnEmulator('the keys of calls on Firestore', () => {
  idempotencyKeysContract(
    (bounds) => {
      const projectId = newProject()
      const instance = () => {
        const connection = connectionTo(projectId)
        const clock = { nowMs: 1_700_000_000_000 }
        const options = { now: () => clock.nowMs, ...(bounds && { bounds }) }
        return { connection, clock, keys: new FirestoreIdempotencyKeys(connection, options) }
      }
      const [one, other] = [instance(), instance()]
      return Promise.resolve({
        connections: [one.keys, other.keys] as const,
        clocks: [one.clock, other.clock] as const,
        dispose: async () => {
          await Promise.all([one.connection.close(), other.connection.close()])
        },
      })
    },
    // An eighth of the bound in the suite, and one result.
    { slackBytes: 100_000 / 8 + 10_000 },
  )

  test('a store that cannot be reached refuses the claim', async () => {
    const connection = new FirestoreConnection(() => Promise.reject(new Error('no network')))
    const keys = new FirestoreIdempotencyKeys(connection)
    await expect(keys.claim(ann(), claimOf())).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })
})
