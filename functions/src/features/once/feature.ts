import type { Authorised } from '../../calls/call.ts'
import type { RunParts } from '../../calls/pipeline/run-tool.ts'
import type { Sealing } from '../../calls/sealing.ts'
import type { Documents } from '../../documents/documents.ts'
import { atMostOnce } from './at-most-once.ts'
import { IdempotencyKeys, type CallKeys } from './idempotency-keys.ts'

type Needs = Pick<RunParts, 'callLimits'> & {
  readonly documents: Documents
  readonly governance: { readonly sealing?: Sealing | undefined; readonly process?: string | undefined }
  readonly now: () => number
  /** The longest time that the platform allows for a call, in milliseconds. By default there is no limit. */
  readonly deadlineMsMax?: number | undefined
}

/** The keys of calls that run at most once. */
export const once = {
  name: 'once',
  create: ({ documents, governance, now }: Needs) => ({
    keys: new IdempotencyKeys(documents, { now, process: governance.process }),
  }),
  steps: ({
    keys,
    governance: { sealing },
    callLimits,
    deadlineMsMax = Infinity,
  }: Pick<Needs, 'governance' | 'callLimits' | 'deadlineMsMax'> & { readonly keys: CallKeys }) => ({
    'run at most once': atMostOnce<Authorised>({ keys, sealing, callLimits, deadlineMsMax }),
  }),
}
