import type { JsonValue, ToolRunner } from '@toolrack/contract'
import { BUILTINS } from '../builtin/builtins.ts'
import type { Builtin } from '../builtin/builtin.ts'

/** What runs a tool: a module's handler in the runner, the service itself, whoever asked, or nothing in this version. */
export type HowRun =
  | {
      readonly by: 'python'
      readonly module: string
      readonly sha256: string
      /** The hosts that its calls may be connected to. */
      readonly network: readonly string[]
    }
  | { readonly by: 'builtin'; readonly builtin: Builtin }
  | { readonly by: 'client' }
  | { readonly by: 'nobody'; readonly reason: string }

const SHA256 = /^[0-9a-f]{64}$/

/** The one place that reads a definition's `runner`; what can not be run is told by it, and never guessed. */
export function howRun(runner: ToolRunner | undefined): HowRun {
  if (!runner) return { by: 'client' }
  const { kind, module, sha256, builtin, network } = runner
  if (kind === 'python') {
    if (typeof module === 'string' && typeof sha256 === 'string' && SHA256.test(sha256))
      return { by: 'python', module, sha256, network: hostsIn(network) }
    return nobody('its definition names no module and sha256')
  }
  if (kind === 'builtin') {
    const found = typeof builtin === 'string' ? BUILTINS.get(builtin) : undefined
    return found ? { by: 'builtin', builtin: found } : nobody('its definition names no built-in tool')
  }
  return nobody(`tools of the kind '${kind}' are not run by this version`)
}

/** The same as `explain` tells it. */
export function callableBy({ by }: HowRun): 'service' | 'client' | null {
  if (by === 'nobody') return null
  return by === 'client' ? 'client' : 'service'
}

function hostsIn(network: JsonValue | undefined): readonly string[] {
  return Array.isArray(network) ? network.filter((host): host is string => typeof host === 'string') : []
}

function nobody(reason: string): HowRun {
  return { by: 'nobody', reason }
}
