import { afterEach, expect, test } from '@jest/globals'
import type { Principal } from '../../../../functions/src/access/principal.ts'
import { ArtifactStore } from '../../../../functions/src/features/artifacts/artifact-store.ts'
import { USER_BYTES_MAX } from '../../../../functions/src/features/artifacts/artifact.ts'
import { ArtifactFiles } from '../../../../functions/src/stores/files/artifact-files.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { twoSqliteDocuments } from '../../../support/two-stores.ts'

const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: false }
const TEXT = { type: 'text/plain', name: 'a.txt' }
const FULL = { code: 'ITEMS_FULL' }

let dispose: (() => Promise<void>) | undefined
afterEach(() => dispose?.())

/** A server that is killed in the middle of an upload that has all the room of its user, and the one that is started after it. */
async function killed({ isShared }: { readonly isShared: boolean }) {
  const stores = twoSqliteDocuments()
  const folder = temporaryFolder()
  const bytes = new ArtifactFiles(folder.path)
  const log = { warn: () => undefined }
  const [before, after] = stores.documents.map(
    (one) => new ArtifactStore({ documents: one, bytes, now: Date.now, log, isShared }),
  ) as [ArtifactStore, ArtifactStore]
  const begun = Promise.withResolvers<void>()
  const { promise: gate, resolve: finish } = Promise.withResolvers<void>()
  async function* content(): AsyncGenerator<Uint8Array> {
    begun.resolve()
    yield Buffer.from('x')
    await gate
  }
  const lost = before.upload(ANN, TEXT, content(), USER_BYTES_MAX)
  await begun.promise
  dispose = async () => {
    finish()
    await lost.catch(() => undefined)
    await stores.dispose()
    folder[Symbol.dispose]()
  }
  return { before, after, lost, finish }
}

const keep = (store: ArtifactStore) => store.keep(ANN, TEXT, Buffer.from('y'))

test('the room of an upload that a killed server has not ended is free after the next start', async () => {
  const { after, lost, finish } = await killed({ isShared: false })
  expect(await keep(after)).toMatchObject({ bytes: 1 })
  finish()
  await expect(lost).rejects.toMatchObject({ code: 'ARTIFACT_NOT_FOUND' })
})

test('the room of an upload that goes on is not given to others', async () => {
  const { before, lost, finish } = await killed({ isShared: false })
  await expect(keep(before)).rejects.toMatchObject(FULL)
  finish()
  expect(await lost).toMatchObject({ bytes: 1 })
})

test('where other processes have the same documents, their uploads keep their room', async () => {
  const { after, lost, finish } = await killed({ isShared: true })
  await expect(keep(after)).rejects.toMatchObject(FULL)
  finish()
  expect(await lost).toMatchObject({ bytes: 1 })
})
