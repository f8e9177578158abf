import type { Sealing } from '../../calls/sealing.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import type { ArtifactBytes } from './artifact-bytes.ts'
import { ArtifactLinks } from './artifact-links.ts'
import { artifactRoutes } from './artifact-routes.ts'
import { artifactReader } from './artifact-reader.ts'
import { ArtifactStore } from './artifact-store.ts'
import { ArtifactSweeper } from './artifact-sweeper.ts'
import { keepContent } from './keep-content.ts'

type Needs = {
  readonly documents: Documents
  readonly artifactBytes?: ArtifactBytes | undefined
  /** `process` is undefined if other processes have the same documents. */
  readonly governance: { readonly sealing?: Sealing | undefined; readonly process?: string | undefined }
  readonly now: () => number
  readonly log: Log
}

/** Files of users, images and files that tools return, and results that are too long to be answered. */
export const artifacts = {
  name: 'artifacts',
  create({ documents, artifactBytes: bytes, governance: { sealing, process }, now, log }: Needs) {
    const isShared = process === undefined
    const store = bytes && new ArtifactStore({ documents, bytes, now, log, isShared })
    return {
      artifacts: store,
      /** Numbers for operators. */
      artifactCounts: store && (() => store.counts),
      readsArtifacts: store && artifactReader(store),
      artifactLinks: new ArtifactLinks({ sealing, now }),
      artifactSweeper: bytes && new ArtifactSweeper({ bytes, now, log }),
    }
  },
  steps: ({
    artifacts: store,
    log,
  }: {
    readonly artifacts?: ArtifactStore | undefined
    readonly log: Log
  }) => ({
    'keep the content': store && keepContent({ artifacts: store, log }),
  }),
  routes: artifactRoutes,
  async close({ artifactSweeper, artifactBytes }: Closed) {
    await artifactSweeper?.close()
    await artifactBytes?.close()
  },
}

type Closed = {
  readonly artifactSweeper?: ArtifactSweeper | undefined
  readonly artifactBytes?: ArtifactBytes | undefined
}
