import { expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { FirestoreConnection } from '../../../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreInvocationLogs } from '../../../../functions/src/stores/firestore/firestore-invocation-logs.ts'
import { LOG_KEPT_MS } from '../../../../functions/src/calls/pipeline/invocation-logs.ts'
import {
  connectionTo,
  describeOnEmulator,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { invocationLogsContract } from '../../../support/invocation-logs.contract.ts'

const log = () => ({ invocationId: randomUUID(), tool: 't', at: '', text: 'x', truncated: false })

describeOnEmulator('the logs of calls on Firestore', () => {
  invocationLogsContract(() => {
    const clock = { nowMs: 1_700_000_000_000 }
    return Promise.resolve({
      logs: new FirestoreInvocationLogs(connectionTo(newProject()), () => clock.nowMs),
      clock,
      dispose: () => Promise.resolve(),
    })
  })

  test('a log lies below its user, and says when Firestore may delete it', async () => {
    const projectId = newProject()
    const logs = new FirestoreInvocationLogs(connectionTo(projectId), () => 1_700_000_000_000)
    const kept = log()
    await logs.keep('ann', kept)
    const firestore = openFirestore(projectId)
    const document = await firestore.doc(`users/ann/tools/invocations/logs/${kept.invocationId}`).get()
    expect((document.get('expiresAt') as { toMillis(): number }).toMillis()).toBe(
      1_700_000_000_000 + LOG_KEPT_MS,
    )
    await firestore.terminate()
    await logs.close()
  })
})

test('a client that can not be made fails that log only', async () => {
  let tries = 0
  const connect = () => {
    tries += 1
    return Promise.reject(new Error('no credentials'))
  }
  const logs = new FirestoreInvocationLogs(new FirestoreConnection(connect))
  await expect(logs.keep('ann', log())).rejects.toThrow('no credentials')
  await expect(logs.keep('ann', log())).rejects.toThrow('no credentials')
  expect(tries).toBe(2)
  await logs.close()
})
