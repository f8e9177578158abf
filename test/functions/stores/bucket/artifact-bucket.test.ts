import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { artifactKey } from '../../../../functions/src/features/artifacts/artifact-bytes.ts'
import { artifactBucket } from '../../../../functions/src/stores/bucket/artifact-bucket.ts'
import { artifactBytesContract, type BytesHarness } from '../../../support/artifact-bytes.contract.ts'
import { StorageEmulator } from '../../../support/storage-emulator.ts'

let emulator: StorageEmulator
beforeAll(async () => (emulator = await StorageEmulator.start()), 60_000)
afterAll(() => emulator[Symbol.asyncDispose]())

function open(bucket: string) {
  return artifactBucket(bucket, { FIREBASE_STORAGE_EMULATOR_HOST: emulator.address })
}

function harness(): Promise<BytesHarness> {
  const bucket = `b-${randomUUID()}`
  const stores = [open(bucket), open(bucket)] as const
  return Promise.resolve({
    stores,
    // Cloud Storage shows nothing of an upload that has not ended.
    left: async () => ({ contents: (await emulator.objects(bucket)).length, unfinished: 0 }),
    dispose: async () => {
      for (const store of stores) await store.close()
    },
  })
}

async function* content(text: string): AsyncGenerator<Uint8Array> {
  await Promise.resolve()
  yield Buffer.from(text)
}

describe('an artifact bucket', () => {
  artifactBytesContract(harness)

  test('other files of the bucket are left alone', async () => {
    const bucket = `b-${randomUUID()}`
    const store = open(bucket)
    const key = artifactKey(Date.parse('2026-01-02T03:04:05Z'))
    await store.write(key, content('x'), 10)
    expect(await emulator.objects(bucket)).toEqual([`toolrack/artifacts/${key}`])
    for (const name of ['a.txt', 'toolrack/artifacts/0-notes.txt', 'zebra'])
      await fetch(
        `http://${emulator.address}/upload/storage/v1/b/${bucket}/o?uploadType=media&name=${encodeURIComponent(name)}`,
        {
          method: 'POST',
          body: 'mine',
          headers: { Authorization: 'Bearer owner', 'Content-Type': 'text/plain' },
        },
      )
    expect(await store.removeMadeBefore(Date.parse('2027-01-01T00:00:00Z'))).toBe(1)
    expect(await emulator.objects(bucket)).toEqual(['a.txt', 'toolrack/artifacts/0-notes.txt', 'zebra'])
    await store.close()
  })
})
