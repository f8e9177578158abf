import { setGlobalOptions } from 'firebase-functions/options'
import { jobKeys } from './parameters.ts'

/**
 * What both functions have in common. A module of its own that the entry imports first: imports are evaluated before
 * anything else in a module, so options set in the entry itself would come too late.
 */
setGlobalOptions({
  region: 'us-central1',
  // Both check tokens themselves; a private invoker would strip a token's signature before the app sees it.
  invoker: 'public',
  memory: '512MiB',
  cpu: 1,
  concurrency: 80,
  maxInstances: 20,
  timeoutSeconds: 60,
  secrets: [jobKeys],
})
