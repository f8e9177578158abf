import type { Log } from '../log.ts'
import { artifactBucket, type ArtifactBucket } from '../stores/bucket/artifact-bucket.ts'
import type { Config } from './config.ts'

/** The bucket for the bytes of artifacts of a server over Firestore. Without it, this server keeps no artifacts. */
export function bucketOf({ artifactsBucket: name }: Config, log: Log): ArtifactBucket | undefined {
  if (name === undefined) log.warn('artifacts are off', { missing: 'TOOLRACK_ARTIFACTS_BUCKET' })
  return name === undefined ? undefined : artifactBucket(name)
}
