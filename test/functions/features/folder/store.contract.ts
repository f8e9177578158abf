import { afterEach, expect, test } from '@jest/globals'
import { FileModules } from '../../../../functions/src/features/folder/file-modules.ts'
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
    return { store: new FileModules(first), other: new FileModules(second) }
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
}
