import { toolFailure, type ErrorCode, type ResultContent, type ToolResult } from '@toolrack/contract'
import { jsonOf, JsonText, toolResultOfJson } from '../../json/json-text.ts'
import type { CallOutcome, ResultData } from '../../calls/call.ts'
import { hasRunNothing } from '../../calls/nothing-run.ts'

/**
 * The result of a call, as it is kept for the call's key. If the result is JSON, its text is kept unchanged, and never parsed.
 * With `parts`, the text is the JSON of StoredParts: of a result with artifacts. Their ids are kept, and not their bytes.
 */
export type StoredOutcome =
  | { readonly kind: 'text' | 'json' | 'parts'; readonly text: string }
  | {
      readonly kind: 'failure'
      readonly text: string
      readonly code: ErrorCode
      /** The approval for which the call waits after a failure of its tool. */
      readonly approval?: CallOutcome['approval']
    }

/** A result whose text was cut, or that has images or files. `json` is the JSON of its value. */
type StoredParts = {
  readonly text: string
  readonly json?: string | undefined
  readonly content?: readonly ResultContent[] | undefined
  readonly artifact: string | null
}

/** Failures after which nobody knows whether the tool has run, or how far. */
const LOST: ReadonlySet<ErrorCode> = new Set(['WORKER_DIED', 'INTERNAL'])

const LOST_TEXT =
  'The process of the call with this Idempotency-Key was lost, so its outcome is not known; the tool may have run. Look before you repeat it with a new key.'

/** The outcome that is kept for the key of a call. Undefined if nothing was run: then the key is free again. */
export function storedOutcome(outcome: CallOutcome): StoredOutcome | undefined {
  const { result, artifact } = outcome
  if (result.resultType === 'success') {
    const { textResultForLlm: text, data, content } = result
    if (artifact === null && !content) return { kind: data === undefined ? 'text' : 'json', text }
    const parts: StoredParts = {
      text,
      json: data === undefined ? undefined : jsonOf(data),
      content,
      artifact,
    }
    return { kind: 'parts', text: JSON.stringify(parts) }
  }
  const { code, error: text } = result
  if (LOST.has(code)) return { kind: 'failure', code: 'UNKNOWN_OUTCOME', text: LOST_TEXT }
  if (hasRunNothing(outcome)) return undefined
  const { approval } = outcome
  return { kind: 'failure', code, text, ...(approval && { approval }) }
}

/** The result that was kept, and the artifact with its whole text. */
export function resultOf(stored: StoredOutcome): {
  readonly result: ToolResult<ResultData>
  readonly artifact: string | null
} {
  if (stored.kind === 'parts') return resultOfParts(JSON.parse(stored.text) as StoredParts)
  return { result: plainResult(stored), artifact: null }
}

function plainResult(stored: StoredOutcome): ToolResult<ResultData> {
  if (stored.kind === 'failure') return toolFailure(stored.code, stored.text)
  if (stored.kind === 'json') return toolResultOfJson(stored.text)
  return { resultType: 'success', textResultForLlm: stored.text }
}

function resultOfParts({ text, json, content, artifact }: StoredParts) {
  const result: ToolResult<ResultData> = {
    resultType: 'success',
    textResultForLlm: text,
    ...(json !== undefined && { data: new JsonText(json) }),
    ...(content && { content }),
  }
  return { result, artifact }
}
