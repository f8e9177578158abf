import {
  isJsonObject,
  isToolResult,
  parsedJson,
  toolFailure,
  toolResult,
  type ToolResult,
} from '@toolrack/contract'
import { ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import { resultOrError, type CallBody } from './invoke-at-service.ts'
import { failureOf } from './run-at-service.ts'
import { withNetworkErrors, type Service } from './service.ts'

/**
 * Asks the service what it would do with a call. The decision is the `data` of the result; what would be refused is the failure
 * of the call. Nothing runs, whatever happens to the request.
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
