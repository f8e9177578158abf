import { toolFailure, type ErrorCode, type ToolResult } from '@toolrack/contract'
import { toolResultOfJson } from '../../json/json-text.ts'
import type { CallOutcome, ResultData } from '../../calls/call.ts'
import { hasRunNothing } from '../../calls/nothing-run.ts'

/**
 * The result of a call, as it is kept for the call's key. If the result is JSON, its text is kept unchanged, and never parsed.
 */
export type StoredOutcome =
  | { readonly kind: 'text' | 'json'; readonly text: string }
  | { readonly kind: 'failure'; readonly text: string; readonly code: ErrorCode }

/** Failures after which nobody knows whether the tool has run, or how far. */
const LOST: ReadonlySet<ErrorCode> = new Set(['WORKER_DIED', 'INTERNAL'])

const LOST_TEXT =
  'The process of the call with this Idempotency-Key was lost, so its outcome is not known; the tool may have run. Look before you repeat it with a new key.'

/** The outcome that is kept for the key of a call. Undefined if nothing was run: then the key is free again. */
export function storedOutcome(outcome: CallOutcome): StoredOutcome | undefined {
  const { result } = outcome
  if (result.resultType === 'success')
    return { kind: result.data === undefined ? 'text' : 'json', text: result.textResultForLlm }
  const { code, error: text } = result
  if (LOST.has(code)) return { kind: 'failure', code: 'UNKNOWN_OUTCOME', text: LOST_TEXT }
  return hasRunNothing(outcome) ? undefined : { kind: 'failure', code, text }
}

/** The result that was kept. */
export function resultOf(stored: StoredOutcome): ToolResult<ResultData> {
  if (stored.kind === 'failure') return toolFailure(stored.code, stored.text)
  if (stored.kind === 'json') return toolResultOfJson(stored.text)
  return { resultType: 'success', textResultForLlm: stored.text }
}
