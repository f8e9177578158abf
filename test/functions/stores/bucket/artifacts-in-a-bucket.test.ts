import { afterAll, expect, test } from '@jest/globals'
import { artifactBucket } from '../../../../functions/src/stores/bucket/artifact-bucket.ts'
import { Artifacts } from '../../../../packages/client/src/index.ts'
import { inProcess } from '../../../support/in-process.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { StorageEmulator } from '../../../support/storage-emulator.ts'
import { deployedAccess, FIREBASE } from '../../../support/token-kinds.ts'

/** The client, the routes and a bucket together. */

const emulator = await StorageEmulator.start()
const service = await inProcess(
  deployedAccess(() => NOW),
  [],
  () => NOW,
  { artifactBytes: artifactBucket('the-bucket', { FIREBASE_STORAGE_EMULATOR_HOST: emulator.address }) },
)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await emulator[Symbol.asyncDispose]()
})

const connectionOf = (sub: string) => ({ service: service.url, token: signed(FIREBASE, { sub }) })

test('a file is uploaded, read in parts, listed and deleted, and another user does not find it', async () => {
  const artifacts = new Artifacts(connectionOf('ann'))
  const bytes = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, at) => at % 251))
  const artifact = await artifacts.upload(bytes, { name: 'ü.bin' })
  expect(artifact).toMatchObject({ bytes: 300_000, name: 'ü.bin', type: 'application/octet-stream' })
  expect(await emulator.objects('the-bucket')).toEqual([`toolrack/artifacts/${artifact.id}`])
  expect(Buffer.from(await (await artifacts.get(artifact.id)).arrayBuffer()).equals(bytes)).toBe(true)
  const part = await artifacts.get(artifact.id, { start: 70_000, end: 200_000 })
  expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(70_000, 200_000))).toBe(true)
  expect(await artifacts.list()).toEqual([artifact])
  const missing = { code: 'SERVICE_REFUSED', reason: 'ARTIFACT_NOT_FOUND' }
  await expect(new Artifacts(connectionOf('bob')).get(artifact.id)).rejects.toMatchObject(missing)
  await artifacts.delete(artifact.id)
  await expect(artifacts.get(artifact.id)).rejects.toMatchObject(missing)
  expect(await emulator.objects('the-bucket')).toEqual([])
})
