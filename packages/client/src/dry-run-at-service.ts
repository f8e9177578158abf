import {
  isJsonObject,
  isToolResult,
  parsedJson,
  toolFailure,
  toolResult,
  type JsonObject,
  type RuleOwner,
  type ToolResult,
} from '@toolrack/contract'
import { ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import { resultOrError, type CallBody } from './invoke-at-service.ts'
import { failureOf } from './run-at-service.ts'
import { withNetworkErrors, type Service } from './service.ts'

/**
 * What a service would do with a call. `rule` is the index of the deciding rule among the rules of `owner`. It is null if the
 * owner's default decided.
 */
export type DryRun = {
  readonly decision: 'allow' | 'ask'
  readonly owner: { readonly kind: RuleOwner['kind']; readonly id: string } | null
  readonly rule: number | null
  /** The reason as a sentence. */
  readonly reason: string
  /** The effects that a call of the tool is known to have. */
  readonly effects: readonly string[]
  /** The limits of the call. Empty for a tool that runs in this program. */
  readonly limits: JsonObject
  /** The approval with which the call would run, or for which it would wait. Missing if the call needs no approval. */
  readonly approval?: { readonly id: string; readonly status: 'pending' | 'approved' | 'always' | 'session' }
}

/** The dry run of a tool that has a Runner and so runs in this program. */
export const RUNS_HERE: DryRun = {
  decision: 'allow',
  owner: null,
  rule: null,
  reason: 'The tool runs in this program, where no rules of a service apply.',
  effects: ['opaque'],
  limits: {},
}

/**
 * Asks the service what it would do with a call. If the call would run or wait for an approval, the result has a DryRun as
 * `data`. If the call would be refused, the result is the failure of the call. The tool never runs, even if the request is lost.
 */
export async function dryRunAtService(
  service: Service,
  body: CallBody,
  deadlineMs: number,
  caller?: AbortSignal,
): Promise<ToolResult> {
  const send = async (signal: AbortSignal): Promise<ToolResult> => {
    const init = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    }
    const { response } = await service.ask(
      'invoke?dryRun=1',
      await service.token(),
      signal,
      () => init,
      resultOrError,
    )
    const answer = parsedJson(await withNetworkErrors(signal, () => response.text()))
    if (isToolResult(answer)) return answer
    if (isJsonObject(answer) && 'decision' in answer) return toolResult(answer)
    throw new ServiceError('UNREADABLE', 'The answer to the call did not come from the service.')
  }
  try {
    return await inTime(deadlineMs, () => timedOut(deadlineMs), send, caller)
  } catch (error) {
    caller?.throwIfAborted()
    if (error instanceof ToolsError) return failureOf(error)
    return toolFailure('RUNNER_UNAVAILABLE', `${(error as ServiceError).message} The tool has not run.`)
  }
}
