import { afterEach, expect, test } from '@jest/globals'
import { EVERYBODY, put } from '../../../../functions/src/documents/collection.ts'
import { FileModules, fileModuleRef } from '../../../../functions/src/features/folder/file-modules.ts'
import { lockOf } from '../../../support/module-changes.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'

const HERE = { folder: '/home/ann/tools', file: 'weather/__init__.py' }
const THERE = { ...HERE, folder: '/home/ann/more' }
const [one, two] = [lockOf('1.0'), lockOf('2.0')]

/** What the modules of watched folders guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function stores() {
    opened = open()
    const [first, second] = opened.documents
    return { store: new FileModules(first), other: new FileModules(second), documents: first }
  }

  test('a lock is found for the content and the file for which it was kept', async () => {
    const { store, other } = stores()
    expect(await store.lock(HERE, 'a')).toBeUndefined()
    await store.keep(HERE, 'a', one)
    await store.keep(THERE, 'a', two)
    expect(await other.lock(HERE, 'a')).toEqual(one)
    expect(await other.lock(THERE, 'a')).toEqual(two)
    expect(await other.lock(HERE, 'b')).toBeUndefined()
    expect(await other.lock({ ...HERE, file: 'weather.py' }, 'a')).toBeUndefined()
    await store.keep(HERE, 'b', two)
    expect([await other.lock(HERE, 'a'), await other.lock(HERE, 'b')]).toEqual([undefined, two])
  })

  test('the consent of a module stays when another lock is kept', async () => {
    const { store, other, documents } = stores()
    const consent = { digest: one.digest, by: 'ann', at: '2026-01-02T03:04:05.678Z' }
    const to = fileModuleRef(HERE)
    const fields = { sha256: 'a', lock: one, consent }
    await documents.change(EVERYBODY, [to], () => ({ result: undefined, writes: [put(to, fields)] }))
    await store.keep(HERE, 'b', two)
    expect(await other.read(HERE)).toEqual({ sha256: 'b', lock: two, consent })
  })
}
