import { Query } from '@google-cloud/firestore'
import { expect, jest, test } from '@jest/globals'
import { FirestoreConnection } from '../../../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreInvocationLogs } from '../../../../functions/src/stores/firestore/firestore-invocation-logs.ts'
import { LOG_KEPT_MS } from '../../../../functions/src/calls/invocation-logs.ts'
import {
  connectionTo,
  describeOnEmulator,
  newProject,
  openFirestore,
} from '../../../support/firestore-emulator.ts'
import { FirestoreTraffic } from '../../../support/firestore-traffic.ts'
import { endedCall } from '../../../support/ended-call.ts'
import { invocationLogsContract } from '../../../support/invocation-logs.contract.ts'

let times = 0
const log = (text = 'x') => endedCall({ at: new Date((times += 1)).toISOString(), tool: 't', text })

describeOnEmulator('the logs of calls on Firestore', () => {
  invocationLogsContract(
    (bounds) => {
      const clock = { nowMs: 1_700_000_000_000 }
      const options = { now: () => clock.nowMs, ...(bounds && { bounds }) }
      return Promise.resolve({
        logs: new FirestoreInvocationLogs(connectionTo(newProject()), options),
        clock,
        dispose: () => Promise.resolve(),
      })
    },
    // An eighth of the bounds in the suite, and one log.
    { slackBytes: 100_000 / 8 + 10_000 },
  )

  test('several instances keep a user near the bound together, and logs that were kept by one that has gone count', async () => {
    const projectId = newProject()
    const clock = { nowMs: 1_700_000_000_000 }
    const bounds = { userBytes: 200_000, allBytes: 200_000 }
    const instances = Array.from(
      { length: 3 },
      () => new FirestoreInvocationLogs(connectionTo(projectId), { bounds, now: () => clock.nowMs }),
    )
    const flood = Array.from({ length: 120 }, () => log('x'.repeat(9_000)))
    for (const [index, each] of flood.entries()) {
      clock.nowMs += 1
      if (index === 90) await instances.shift()?.close()
      await instances[index % instances.length]?.keep('ann', each)
    }
    const firestore = openFirestore(projectId)
    const kept = await firestore.collection('users/ann/tools/invocations/logs').get()
    const bytes = kept.docs.reduce((sum, document) => sum + Number(document.get('bytes')), 0)
    expect(bytes).toBeGreaterThan(150_000)
    expect(bytes).toBeLessThanOrEqual(200_000 + 3 * (200_000 / 8 + 10_000))
    await Promise.all([firestore.terminate(), ...instances.map((each) => each.close())])
  })

  test('a log costs one write; an instance reads with the first log of a user, and after an eighth of the bound', async () => {
    using traffic = new FirestoreTraffic()
    const bounds = { userBytes: 80_000, allBytes: 80_000 }
    const logs = new FirestoreInvocationLogs(connectionTo(newProject()), { bounds })
    const kept = (): Promise<void> => logs.keep('ann', log('x'.repeat(3_000)))
    await kept()
    expect(traffic.rpcs.filter((rpc) => rpc !== 'rollback')).toEqual(['commit', 'count'])
    traffic.restart()
    for (let count = 0; count < 3; count += 1) await kept()
    expect(traffic.rpcs.filter((rpc) => rpc !== 'rollback')).toEqual(['commit', 'commit', 'commit', 'count'])
    expect(traffic.read).toEqual([])
    await logs.close()
  })

  test('a look that fails is told, and the next log reads again', async () => {
    const logs = new FirestoreInvocationLogs(connectionTo(newProject()))
    const reads = jest.spyOn(Query.prototype, 'aggregate').mockImplementationOnce(() => {
      throw new Error('no look')
    })
    const [first, second, third] = [log(), log(), log()]
    await expect(logs.keep('ann', first)).rejects.toThrow('no look')
    await logs.keep('ann', second)
    await logs.keep('ann', third)
    expect(reads).toHaveBeenCalledTimes(2)
    reads.mockRestore()
    for (const kept of [first, second, third]) expect(await logs.find('ann', kept.invocationId)).toEqual(kept)
    await logs.close()
  })

  test('a log lies below its user, and says when Firestore may delete it', async () => {
    const projectId = newProject()
    const logs = new FirestoreInvocationLogs(connectionTo(projectId), { now: () => 1_700_000_000_000 })
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
