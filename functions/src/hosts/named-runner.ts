import { findService } from '../platform/cloud-run/find-service.ts'
import type { CloudRunEndpoint, ServiceNotFound } from '../platform/cloud-run/find-service.ts'
import { IdTokens } from '../platform/cloud-run/id-tokens.ts'
import { ServiceAddress } from '../platform/cloud-run/service-address.ts'
import type { Config } from './config.ts'
import type { Runner } from '../tools/modules/runner.ts'
import type { Log } from '../log.ts'
import { HttpRunner } from '../platform/runner/http-runner.ts'
import type { Whereabouts } from '../platform/runner/http-runner.ts'
import type { RunnerAddress } from '../platform/runner/runner-address.ts'

/** An instance of Cloud Run that has slept takes seconds to answer at first, so its health and its calls get more time on the way. */
const PATIENCE = { deadlineMs: 3_000, graceMs: 5_000 }

type Lookup = { readonly endpoint?: CloudRunEndpoint; readonly againMs?: number }

/** The runner that the environment names, by its address or as a service on Cloud Run; undefined where it names none. Nobody is asked before the first call. */
export function namedRunner(
  { address, service }: Config['runner'],
  log: Log,
  { endpoint, ...patience }: Lookup = {},
): Runner | undefined {
  if (address) return runnerAt(address, log)
  if (!service) return undefined
  return runnerOf(new ServiceAddress(() => findService(service, endpoint), patience), log)
}

/** With a secret it is let in by the runner itself, and on this machine by nobody else; anywhere else by Google. */
function runnerAt({ url, secret }: NonNullable<Config['runner']['address']>, log: Log): Runner {
  if (secret !== undefined || url.startsWith('http:')) {
    const address = { url, secret }
    return new HttpRunner({ whereabouts: () => address })
  }
  const { addressOf, forget } = guardedByGoogle(log)
  return new HttpRunner({ whereabouts: () => addressOf(url), failed: forget, patience: PATIENCE })
}

/** Looked up in time, and again when nothing of ours answers where it was. */
function runnerOf(looked: ServiceAddress, log: Log): Runner {
  const { addressOf, forget } = guardedByGoogle(log)
  async function found(finding: Promise<string>): Promise<Whereabouts> {
    try {
      return addressOf(await finding)
    } catch (error) {
      const { message: reason } = error as ServiceNotFound
      log.error('the runner was not found', { reason, cause: reasonOf(error as ServiceNotFound) })
      return { status: 'unreachable', reason }
    }
  }
  return new HttpRunner({
    whereabouts() {
      const url = looked.get()
      return typeof url === 'string' ? addressOf(url) : found(url)
    },
    failed(address) {
      forget(address)
      looked.doubt(address.url)
    },
    patience: PATIENCE,
  })
}

/** Addresses that are asked with ID tokens for their origin; the same object for the same address. */
function guardedByGoogle(log: Log) {
  const tokens = new IdTokens()
  let last: RunnerAddress | undefined
  const idTokenFor = async (audience: string): Promise<string> => {
    try {
      return await tokens.get(audience)
    } catch (error) {
      log.error('no ID token for the runner', { reason: reasonOf(error as Error) })
      throw error
    }
  }
  const addressOf = (url: string): RunnerAddress => {
    if (last?.url !== url) last = { url, idToken: () => idTokenFor(new URL(url).origin) }
    return last
  }
  const forget = ({ url }: RunnerAddress): void => tokens.forget(new URL(url).origin)
  return { addressOf, forget }
}

function reasonOf({ cause, message }: Error): string {
  return cause instanceof Error ? cause.message : message
}
