import type { InvocationMeta, InvocationResult, ToolDefinition } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { Principal } from '../access/principal.ts'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import { howRun } from '../catalog/how-run.ts'
import type { HowRun } from '../catalog/how-run.ts'
import type { ToolLimits } from '@toolrack/contract'
import type { Call, CallRequest, Outcome } from './call.ts'
import { failedOutcome } from './failed-outcome.ts'
import { withLeftOut } from './with-left-out.ts'
import type { InvokeParts } from './invoke-parts.ts'
import { resolveTool } from './resolve-tool.ts'
import { STEPS } from './steps.ts'

/** An answered call. */
export type Invocation = {
  readonly result: InvocationResult
  /** When the same call may succeed, where the runner has said so. */
  readonly retryAfterSeconds: number | null
}

/** Every call of a tool goes through here, whatever door it came by: look it up, then one step after the other. */
export class Invoker {
  readonly #parts: InvokeParts
  /** How an entry is run, read from its text once. */
  readonly #known = new WeakMap<CatalogEntry, { readonly howRun: HowRun; readonly limits: ToolLimits }>()

  constructor(parts: InvokeParts) {
    this.#parts = parts
  }

  /** `asked` is the call, or throws why what came is none. Never rejects: whatever happens is a result that a model can be handed. */
  async invoke(principal: Principal, asked: () => CallRequest, signal: AbortSignal): Promise<Invocation> {
    const invocationId = randomUUID()
    let view: CatalogView | undefined
    let call: Call | undefined
    let outcome: Outcome
    try {
      const sent = asked()
      view = await this.#parts.catalog.view(principal)
      const entry = resolveTool(view, sent, principal.grant)
      const request = withLeftOut(sent, entry)
      call = { invocationId, principal, request, view, entry, ...this.#read(entry), signal }
      outcome = await this.#take(call)
    } catch (error) {
      outcome = failedOutcome(error, invocationId, this.#parts.log)
    }
    const meta: InvocationMeta = {
      invocationId,
      tool: call?.entry.name ?? null,
      digest: call?.entry.digest ?? null,
      revision: view?.revision ?? null,
      isolation: outcome.isolation,
      executionTimeMs: outcome.executionTimeMs,
      resourceUsage: outcome.usage,
      replayed: false,
    }
    return { result: { ...outcome.result, meta }, retryAfterSeconds: outcome.retryAfterSeconds }
  }

  /** A step that refuses or fails ends the way to the run; what comes behind the run is done for every outcome. */
  async #take(call: Call): Promise<Outcome> {
    let outcome: Outcome | undefined
    for (const { before, run, after } of STEPS) {
      try {
        if (!outcome && before) await before(call, this.#parts)
        if (!outcome && run) outcome = await run(call, this.#parts)
      } catch (error) {
        outcome = failedOutcome(error, call.invocationId, this.#parts.log)
      }
      if (outcome && after) outcome = await after(outcome, call, this.#parts)
    }
    if (!outcome) throw new Error('no step runs the tool')
    return outcome
  }

  #read(entry: CatalogEntry): { readonly howRun: HowRun; readonly limits: ToolLimits } {
    const known = this.#known.get(entry)
    if (known) return known
    const { runner, limits = {} } = JSON.parse(entry.stored.text) as ToolDefinition
    const read = { howRun: howRun(runner), limits }
    this.#known.set(entry, read)
    return read
  }
}
