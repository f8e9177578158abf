import { expect, test } from '@jest/globals'
import { join } from 'node:path'
import { SqliteDefinitionStore } from '../../../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { SqliteInvocationLogs } from '../../../../functions/src/stores/sqlite/sqlite-invocation-logs.ts'
import { LAYER_LIMITS } from '../../../../functions/src/catalog/definitions/layer-totals.ts'
import { put, remove, tool } from '../../../support/definition-changes.ts'
import { putModule, removeModule } from '../../../support/module-changes.ts'
import { endedCall } from '../../../support/ended-call.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const HOSTILE = { kind: 'user', uid: 'hostile' } as const
const HONEST = { kind: 'user', uid: 'honest' } as const
const context = (uid: string, bytesMax: number) => {
  return { by: uid, at: new Date(), limits: { ...LAYER_LIMITS.user, bytesMax, deletedMax: 20 } }
}
let times = 0
const log = (text: string) => endedCall({ at: new Date((times += 1)).toISOString(), tool: 't', text })

test('one user fills everything that can be filled; another writes, reads, logs and finds everything', async () => {
  using folder = temporaryFolder()
  const store = new SqliteDefinitionStore(join(folder.path, 'toolrack.db'), { bytesMax: 1_200_000 })
  const bounds = { userBytes: 200_000, allBytes: 500_000 }
  const logs = new SqliteInvocationLogs(join(folder.path, 'invocations.db'), { bounds })
  const kept = [log('first'), log('second')]
  const hostile = context('hostile', 1_000_000)
  const refusals = new Set<string>()
  const greedy = (write: Promise<unknown>): Promise<unknown> =>
    write.catch((error: unknown) => refusals.add((error as { code: string }).code))

  await store.write(HONEST, [put(tool('mine', 'First.'))], context('honest', 1_000_000))
  await logs.keep('honest', kept[0] ?? log(''))
  for (let round = 0; round < 60; round += 1) {
    const text = `${round}${'x'.repeat(8_000)}`
    const bulk = Array.from({ length: 10 }, (_, index) => put(tool(`h${round}_${index}`, text)))
    await greedy(store.write(HOSTILE, bulk, hostile))
    await greedy(store.write(HOSTILE, [put(tool('h0_0', text))], hostile))
    await greedy(store.writeModule(HOSTILE, putModule(`m${round}`, ['a'], text.repeat(5)), hostile))
    await greedy(store.writeModule(HOSTILE, removeModule(`m${round}`), hostile))
    await greedy(store.write(HOSTILE, [put(tool(`d${round}`))], hostile))
    await greedy(store.write(HOSTILE, [remove(`d${round}`)], hostile))
    for (let count = 0; count < 10; count += 1) await logs.keep('hostile', log(text))
  }
  expect([...refusals]).toContain('LAYER_FULL')

  const honest = context('honest', 1_000_000)
  await store.write(HONEST, [put(tool('mine', 'Second.')), put(tool('other'))], honest)
  await store.writeModule(HONEST, putModule('m', ['a'], '# mine'), honest)
  await logs.keep('honest', kept[1] ?? log(''))
  const { definitions } = await store.layer(HONEST).read()
  expect(definitions.map(({ name }) => name).toSorted()).toEqual(['m:a', 'mine', 'other'])
  expect(await store.versions(HONEST, 'mine')).toHaveLength(2)
  expect(await store.source(HONEST, putModule('m', ['a'], '# mine').sha256)).toEqual({ source: '# mine' })
  for (const each of kept) expect(await logs.find('honest', each.invocationId)).toEqual(each)
  await store.close()
  await logs.close()
})
