import { expect, test } from '@jest/globals'
import { Catalog } from '../../../../functions/src/catalog/views/catalog.ts'
import { by, put, tool } from '../../../support/definition-changes.ts'
import { MemoryDefinitionStore } from '../../../support/memory-definition-store.ts'
import { ScriptedLayerSource } from '../../../support/scripted-layer-source.ts'

test('users’ layers in memory are bounded in bytes: the one used longest ago is read again', async () => {
  const store = new MemoryDefinitionStore()
  const reads: string[] = []
  const sources = {
    file: new ScriptedLayerSource(tool('inFile')),
    global: store.layer({ kind: 'global' }),
    user: (uid: string) => {
      const source = store.layer({ kind: 'user', uid })
      return {
        read: (since?: string) => {
          if (since === undefined) reads.push(uid)
          return source.read(since)
        },
      }
    },
  }
  for (const uid of ['ann', 'bob', 'cid'])
    await store.write({ kind: 'user', uid }, [put(tool('a', 'x'.repeat(10_000)))], by(uid))
  const catalog = new Catalog(sources, { now: () => 0, report: () => undefined, userLayerBytesMax: 50_000 })
  for (const uid of ['ann', 'bob', 'ann', 'bob', 'cid', 'cid', 'bob', 'ann'])
    expect([...(await catalog.view({ uid })).entries()].map(({ name }) => name)).toEqual(['a', 'inFile'])
  expect(reads).toEqual(['ann', 'bob', 'cid', 'ann'])
})
