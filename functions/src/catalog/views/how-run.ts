import { RUNNER_KINDS, type Digest, type ToolRunner } from '@toolrack/contract'
import { isDigest } from '../../access/job-token.ts'
import { BUILTINS, type Builtin } from '../builtin/builtins.ts'

/**
 * How a tool is run: by a module in the Python runner, by the service itself, or by the client. `nobody`: this version of the
 * service does not know how to run it.
 */
export type HowRun =
  | {
      readonly by: 'python'
      readonly module: string
      readonly sha256: string
      /** The hosts that calls of the tool may connect to. */
      readonly network: readonly string[]
      /** The names of the secrets that a call gets. `caller:NAME` is the secret NAME of the user who makes the call. */
      readonly secrets: readonly string[]
      /** The digest of the lock of the module's packages. Undefined if it has none. */
      readonly environment?: Digest | undefined
      /** How many calls one process may serve. Undefined if it serves only one. */
      readonly reuse?: number | undefined
    }
  | { readonly by: 'builtin'; readonly builtin: Builtin }
  | {
      readonly by: 'client'
      /** The workflow that the client starts for a call. Undefined if the definition names no runner. */
      readonly workflowName?: string
    }
  | { readonly by: 'nobody'; readonly reason: string }

const SHA256 = /^[0-9a-f]{64}$/
// All definitions that the client runs share this object, because the catalog keeps a `HowRun` for each definition. The constants
// below are shared for the same reason.
const CLIENT: HowRun = { by: 'client' }
const WITHOUT_MODULE: HowRun = { by: 'nobody', reason: 'its definition names no module and sha256' }
const WITHOUT_WORKFLOW: HowRun = { by: 'nobody', reason: 'its definition names no workflowName' }
const WITHOUT_BUILTIN: HowRun = { by: 'nobody', reason: 'its definition names no built-in tool' }
/** How many calls one process may serve at most. The runner has the same limit. */
const REUSE_MAX = 1_000
const NO_TEXTS: readonly string[] = []
const NOT_SERVED = new Map(RUNNER_KINDS.map((kind) => [kind, notServed(kind)]))

/** Decides how the tool of a definition is run. No other code decides this. If the tool cannot be run, the result says why. */
export function howRun(runner: ToolRunner | undefined): HowRun {
  if (!runner) return CLIENT
  const { kind, module, sha256, builtin, workflowName } = runner
  if (kind === 'python') {
    const isNamed = typeof module === 'string' && typeof sha256 === 'string' && SHA256.test(sha256)
    return isNamed ? { by: 'python', module, sha256, ...grantedIn(runner) } : WITHOUT_MODULE
  }
  if (kind === 'builtin') {
    const found = typeof builtin === 'string' ? BUILTINS.get(builtin) : undefined
    return found ? { by: 'builtin', builtin: found } : WITHOUT_BUILTIN
  }
  if (kind === 'workflow')
    return workflowName === undefined ? WITHOUT_WORKFLOW : { by: 'client', workflowName }
  return NOT_SERVED.get(kind) ?? notServed(kind)
}

function notServed(kind: string): HowRun {
  return { by: 'nobody', reason: `tools of the kind '${kind}' are not run by this version` }
}

function grantedIn({ network, secrets, environment, reuse }: ToolRunner) {
  const isReused = Number.isInteger(reuse) && Number(reuse) > 1 && Number(reuse) <= REUSE_MAX
  return {
    network: textsIn(network),
    secrets: textsIn(secrets),
    ...(isDigest(environment) && { environment }),
    ...(isReused && { reuse: Number(reuse) }),
  }
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((text) => typeof text === 'string') : NO_TEXTS
}
