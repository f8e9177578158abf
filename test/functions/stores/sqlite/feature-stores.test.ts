import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { ApprovalStore } from '../../../../functions/src/features/approvals/approval-store.ts'
import { Approvals, type Decision } from '../../../../functions/src/features/approvals/approvals.ts'
import { IdempotencyKeys } from '../../../../functions/src/features/once/idempotency-keys.ts'
import { askingCall } from '../../features/approvals/store.contract.ts'
import { featureStoresContract } from '../../../support/feature-stores.contract.ts'
import { ann, claimOf, ended, keysOf } from '../../features/once/store.contract.ts'
import { newSealing } from '../../../support/memory-governance.ts'
import { twoSqliteDocuments } from '../../../support/two-stores.ts'

featureStoresContract(twoSqliteDocuments)

const TEXT = { kind: 'text', text: 'x'.repeat(9_744) } as const

test('a user with too many keys is refused a new one, and keeps the old ones', async () => {
  const opened = twoSqliteDocuments()
  const [keys] = keysOf(opened, { userBytes: 100_000, allBytes: 150_000, userKeys: 3 })
  for (let index = 0; index < 3; index += 1) await ended(keys, ann(`k${index}`), TEXT)
  await expect(keys.claim(ann('k3'), claimOf())).rejects.toMatchObject({ code: 'SERVICE_BUSY' })
  expect(await keys.claim(ann('k0'), claimOf())).toMatchObject({ state: 'ended' })
  expect(await keys.claim({ uid: 'bob', id: 'k3' }, claimOf())).toBeUndefined()
  await opened.dispose()
})

test('the calls of an earlier process that have not ended are lost, and no others', async () => {
  const opened = twoSqliteDocuments()
  const [before, after] = opened.documents.map(
    (documents, at) =>
      new IdempotencyKeys(documents, { now: () => opened.clocks[0].nowMs, process: `p${at}` }),
  )
  await before?.claim(ann('running'), claimOf())
  expect(await before?.claim(ann('running'), claimOf())).toMatchObject({ state: 'running' })
  if (before) await ended(before, ann('ended'), TEXT)
  expect(await after?.claim(ann('running'), claimOf())).toMatchObject({ state: 'lost' })
  expect(await after?.claim(ann('ended'), claimOf())).toMatchObject({ state: 'ended' })
  await opened.dispose()
})

test.each([
  ['sealed', newSealing()],
  ['without a key', undefined],
] as const)(
  'no secret of the arguments is in the file, %s, and the call of another key is not run',
  async (_what, sealing) => {
    const opened = twoSqliteDocuments()
    const store = new ApprovalStore(opened.documents[0])
    const now = () => opened.clocks[0].nowMs
    const approvals = new Approvals({ store, sealing, now })
    const call = askingCall({ arguments: { password: 'canary-1', url: 'https://a:canary-2@h.example/' } })
    const id = (await approvals.ask(call))?.id ?? ''
    const decision = { decision: 'once', arguments: sealing ? { token: 'canary-3' } : { text: 'edited' } }
    await approvals.decide('ann', id, decision as Decision)
    expect(await approvals.editedArguments('ann', id, call)).toEqual(decision.arguments)
    const other = new Approvals({ store, sealing: newSealing(), now })
    for (const read of [other.editedArguments('ann', id, call), other.find('ann', id)])
      await expect(read).rejects.toMatchObject({ code: 'APPROVAL_CONFLICT' })
    const bytes = ['', '-wal'].map((end) => readFileSync(opened.path + end, 'latin1')).join('')
    expect(bytes).toContain('notes:write')
    expect(bytes).not.toContain('canary')
    await opened.dispose()
  },
)
