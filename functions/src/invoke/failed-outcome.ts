import { isToolrackError, toolFailure } from '@toolrack/contract'
import type { ToolResult } from '@toolrack/contract'
import type { Log } from '../log.ts'
import type { Outcome } from './call.ts'

/** The outcome of a call that ended before anything ran, or of which nothing more is known than this. */
export function outcomeOf(result: ToolResult): Outcome {
  return { result, isolation: null, usage: null, log: null, executionTimeMs: 0, retryAfterSeconds: null }
}

/** What was thrown, as the model is told of it. What nobody foresaw is logged under the call's id and told as INTERNAL. */
export function failedOutcome(thrown: unknown, invocationId: string, log: Log): Outcome {
  if (isToolrackError(thrown)) return outcomeOf(toolFailure(thrown.code, thrown.message))
  const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  log.error('call failed', { invocationId, error })
  return outcomeOf(
    toolFailure('INTERNAL', 'The service failed; its log has the reason under the invocationId.'),
  )
}
