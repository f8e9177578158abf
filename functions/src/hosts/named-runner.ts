import type { Log } from '../log.ts'
import { findService } from '../platform/cloud-run/find-service.ts'
import type { CloudRunEndpoint, ServiceNotFoundError } from '../platform/cloud-run/find-service.ts'
import { IdTokens } from '../platform/cloud-run/id-tokens.ts'
import { ServiceEndpoint } from '../platform/cloud-run/service-endpoint.ts'
import { HttpRunner, type PresentEndpoint } from '../platform/runner/http-runner.ts'
import type { RunnerEndpoint } from '../platform/runner/runner-request.ts'
import type { Runner } from '../catalog/definitions/runner.ts'
import type { Config } from './config.ts'

/**
 * How many milliseconds a runner on Cloud Run may take. They are more than usual, because an idle instance needs seconds for its
 * first answer.
 */
const PATIENCE = { deadlineMs: 3_000, graceMs: 5_000 }

type Lookup = { readonly endpoint?: CloudRunEndpoint; readonly againMs?: number }

/** The runner that the environment names. Undefined if it names none. No request is sent before the first call. */
export function namedRunner(
  { address, service }: Config['runner'],
  log: Log,
  { endpoint: cloudRun, ...patience }: Lookup = {},
): Runner | undefined {
  if (address) return runnerAt(address, log)
  if (!service) return undefined
  return runnerOf(new ServiceEndpoint(() => findService(service, cloudRun), patience), log)
}

/**
 * The runner at this address. A runner that has a secret, or is on this machine, checks its callers itself. Any other runner is
 * behind Google and needs ID tokens.
 */
function runnerAt(address: NonNullable<Config['runner']['address']>, log: Log): Runner {
  const { url, secret } = address
  if (secret !== undefined || url.startsWith('http:')) return new HttpRunner({ endpoint: () => address })
  const { endpointAt, forget } = behindGoogle(log)
  return new HttpRunner({ endpoint: () => endpointAt(url), failed: forget, patience: PATIENCE })
}

/** A runner on Cloud Run. Its address is looked up, and looked up again if the runner no longer answers there. */
function runnerOf(service: ServiceEndpoint, log: Log): Runner {
  const { endpointAt, forget } = behindGoogle(log)
  function notFound(error: ServiceNotFoundError): PresentEndpoint {
    log.error('the runner was not found', { reason: error.message, cause: reasonOf(error) })
    return { status: 'unreachable', reason: error.message }
  }
  return new HttpRunner({
    endpoint() {
      const url = service.get()
      return typeof url === 'string' ? endpointAt(url) : url.then(endpointAt).catch(notFound)
    },
    failed(endpoint) {
      forget(endpoint)
      service.doubt(endpoint.url)
    },
    patience: PATIENCE,
  })
}

/** Makes endpoints with ID tokens for their addresses. `endpointAt` returns the same object for the same address. */
function behindGoogle(log: Log) {
  const tokens = new IdTokens()
  let last: RunnerEndpoint | undefined
  function noToken(error: Error): never {
    log.error('no ID token for the runner', { reason: reasonOf(error) })
    throw error
  }
  function endpointAt(url: string): RunnerEndpoint {
    if (last?.url !== url) last = { url, idToken: () => tokens.get(new URL(url).origin).catch(noToken) }
    return last
  }
  return { endpointAt, forget: ({ url }: RunnerEndpoint) => tokens.forget(new URL(url).origin) }
}

function reasonOf({ cause, message }: Error): string {
  return cause instanceof Error ? cause.message : message
}
