import type { v2 } from '@google-cloud/run'
import { withinMs } from '../../within-ms.ts'

/** A service of Cloud Run. */
export type ServiceName = { readonly projectId: string; readonly region: string; readonly service: string }

/** Where Cloud Run is asked; the real one unless a test says otherwise. */
export type CloudRunEndpoint = NonNullable<ConstructorParameters<typeof v2.ServicesClient>[0]>

/** Why a service was not found: the message is a sentence for the operator. */
export class ServiceNotFound extends Error {
  /** Whether there is no such service, and not only no answer. */
  readonly isGone: boolean

  constructor(message: string, { isGone = false, ...options }: ErrorOptions & { isGone?: boolean } = {}) {
    super(message, options)
    this.isGone = isGone
  }
}

const LOOK_MS = 8_000

/** gRPC's numbers for two of the ways in which Cloud Run says no. */
const NOT_FOUND = 5
const PERMISSION_DENIED = 7

/**
 * Asks Cloud Run for the root of a service, `https://host`. Rejects with ServiceNotFound. The client takes 200 ms to load, so it is
 * loaded here; and it is made anew each time, because one that found no credentials never looks for them again.
 */
export async function findService(name: ServiceName, endpoint: CloudRunEndpoint = {}): Promise<string> {
  try {
    return await look(name, endpoint)
  } catch (error) {
    throw notFound(error as Error & { readonly code?: unknown })
  }
}

async function look(name: ServiceName, endpoint: CloudRunEndpoint): Promise<string> {
  const { v2 } = await import('@google-cloud/run')
  // By REST: over gRPC it would take 80 ms more to make, and keep a connection for one question.
  const client = new v2.ServicesClient({ fallback: true, projectId: name.projectId, ...endpoint })
  try {
    // Credentials that it misses itself it would tell of where nobody can catch it, and the process would end.
    await withinMs(LOOK_MS, client.auth.getClient())
    const path = client.servicePath(name.projectId, name.region, name.service)
    const asked = client.getService({ name: path }, { timeout: LOOK_MS, maxRetries: 0 })
    const [{ uri }] = await withinMs(LOOK_MS, asked)
    if (!uri || !/^https:\/\/[^/]+$/.test(uri)) throw new Error('it has no address yet')
    return uri
  } finally {
    await client.close()
  }
}

function notFound(cause: Error & { readonly code?: unknown }): ServiceNotFound {
  if (cause.code === NOT_FOUND)
    return new ServiceNotFound(
      'There is no service RUNNER_SERVICE in RUNNER_REGION: deploy the runner, or correct the two variables.',
      { cause, isGone: true },
    )
  if (cause.code === PERMISSION_DENIED)
    return new ServiceNotFound(
      "This service's account may not look RUNNER_SERVICE up: give it roles/run.viewer on the runner's service, or set RUNNER_URL.",
      { cause },
    )
  return new ServiceNotFound('Cloud Run did not tell where RUNNER_SERVICE is; the log has its words.', {
    cause,
  })
}
