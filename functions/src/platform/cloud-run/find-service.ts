import type { v2 } from '@google-cloud/run'
import { withinMs } from '../../within-ms.ts'

type ServiceName = { readonly projectId: string; readonly region: string; readonly service: string }

/** The options of the client for Cloud Run. Tests replace its address. */
export type CloudRunEndpoint = NonNullable<ConstructorParameters<typeof v2.ServicesClient>[0]>

/** Thrown if the service was not found. The message is a sentence for the operator. */
export class ServiceNotFoundError extends Error {
  /** True if there is no such service, false if Cloud Run did not answer. */
  readonly isGone: boolean

  constructor(message: string, { isGone = false, ...options }: ErrorOptions & { isGone?: boolean } = {}) {
    super(message, options)
    this.isGone = isGone
  }
}

const LOOK_UP_MS = 8_000

const NOT_FOUND = 5
const PERMISSION_DENIED = 7

/**
 * Asks Cloud Run for the address of a service, `https://host`. Rejects with ServiceNotFoundError. The client library is loaded
 * only here, because this takes 200 ms. Each lookup makes a new client, because a client that has found no credentials never
 * searches for them again.
 */
export function findService(name: ServiceName, endpoint: CloudRunEndpoint = {}): Promise<string> {
  return lookUp(name, endpoint).catch((error: unknown) => {
    throw notFound(error as Error & { readonly code?: unknown })
  })
}

async function lookUp({ projectId, region, service }: ServiceName, endpoint: CloudRunEndpoint) {
  const { v2 } = await import('@google-cloud/run')
  // The client uses REST. With gRPC, making the client would take 80 ms more, and a connection would stay open for a single
  // request.
  const client = new v2.ServicesClient({ fallback: true, projectId, ...endpoint })
  try {
    // Credentials are looked up before the request. If getService itself found no credentials, it would throw an error that
    // cannot be caught and that would end the process.
    await withinMs(LOOK_UP_MS, client.auth.getClient())
    const path = client.servicePath(projectId, region, service)
    const asked = client.getService({ name: path }, { timeout: LOOK_UP_MS, maxRetries: 0 })
    const [{ uri }] = await withinMs(LOOK_UP_MS, asked)
    if (!uri || !/^https:\/\/[^/]+$/.test(uri)) throw new Error('it has no address yet')
    return uri
  } finally {
    await client.close()
  }
}

function notFound(cause: Error & { readonly code?: unknown }): ServiceNotFoundError {
  if (cause.code === NOT_FOUND)
    return new ServiceNotFoundError(
      'There is no service RUNNER_SERVICE in the region RUNNER_REGION, or else TOOLRACK_REGION: deploy the runner, or correct the variables.',
      { cause, isGone: true },
    )
  if (cause.code === PERMISSION_DENIED)
    return new ServiceNotFoundError(
      "This service's account may not look RUNNER_SERVICE up: give it roles/run.viewer on the runner's service, or set RUNNER_URL.",
      { cause },
    )
  const message = 'Cloud Run did not tell the address of RUNNER_SERVICE; the log has the reason.'
  return new ServiceNotFoundError(message, { cause })
}
