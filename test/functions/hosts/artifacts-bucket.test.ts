import { expect, test } from '@jest/globals'
import { bucketOf } from '../../../functions/src/hosts/bucket-of.ts'
import { parseConfig } from '../../../functions/src/hosts/config.ts'
import { ArtifactBucket } from '../../../functions/src/stores/bucket/artifact-bucket.ts'

function opened(env: NodeJS.ProcessEnv) {
  const warnings: unknown[] = []
  const log = { info() {}, error() {}, warn: (...said: unknown[]) => void warnings.push(said) }
  return { store: bucketOf(parseConfig(env), log), warnings }
}

test('a server over Firestore keeps artifacts in the bucket that its operator names, and else says that it keeps none', async () => {
  const named = opened({ TOOLRACK_ARTIFACTS_BUCKET: 'my-project-artifacts' })
  expect([named.store instanceof ArtifactBucket, named.warnings]).toEqual([true, []])
  await named.store?.close()
  const none = opened({})
  expect(none).toEqual({
    store: undefined,
    warnings: [['artifacts are off', { missing: 'TOOLRACK_ARTIFACTS_BUCKET' }]],
  })
})

test('a bucket of Firebase, which clients may be able to read, and a text that is no name are refused', () => {
  const bad = [
    'my-project.appspot.com',
    'my-project.firebasestorage.app',
    'gs://b',
    'Big',
    'ab',
    `a${'b'.repeat(63)}`,
    '../x',
  ]
  for (const name of bad)
    expect(() => parseConfig({ TOOLRACK_ARTIFACTS_BUCKET: name })).toThrow(
      'TOOLRACK_ARTIFACTS_BUCKET must be the name of a bucket, and not a bucket of Firebase',
    )
  expect(parseConfig({ TOOLRACK_ARTIFACTS_BUCKET: 'a.b_c-1' }).artifactsBucket).toBe('a.b_c-1')
})
