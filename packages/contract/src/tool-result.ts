import type { Digest } from './definition-digest.ts'
import type { ErrorCode } from './error-code.ts'
import type { Grant } from './grants.ts'
import type { RuleDecision } from './rules/decide-call.ts'
import { isJsonObject, type JsonValue } from './json.ts'
import type { Layer } from './tool-definition.ts'

/**
 * A part of a result that is no JSON: a text, or an image or a file that is kept as the artifact with this id. `bytes` is its
 * size.
 */
export type ResultContent =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image' | 'file'
      readonly artifact: string
      readonly mimeType: string
      readonly name: string
      readonly bytes: number
    }

/** The result of a call. `Data` is the type of the returned value. */
export type ToolResult<Data = JsonValue> =
  | {
      readonly resultType: 'success'
      readonly textResultForLlm: string
      readonly data?: Data
      readonly content?: readonly ResultContent[]
    }
  | {
      readonly resultType: 'failure'
      readonly textResultForLlm: string
      readonly error: string
      readonly code: ErrorCode
    }

export function isToolResult(value: unknown): value is ToolResult {
  if (!isJsonObject(value) || typeof value['textResultForLlm'] !== 'string') return false
  const { resultType, error } = value
  return resultType === 'success' || (resultType === 'failure' && typeof error === 'string')
}

/** The result of a call that failed. `error` is a sentence that the model can act on. */
export function toolFailure(code: ErrorCode, error: string): ToolResult {
  return { resultType: 'failure', textResultForLlm: error, error, code }
}

/**
 * Makes the result of a call whose tool has returned `returned`. A string is the text itself. Any other value is written as JSON.
 * If JSON cannot represent it, the result is a failure with the code RESULT_INVALID.
 */
export function toolResult(returned: unknown): ToolResult {
  try {
    const text = jsonText(returned)
    if (typeof returned === 'string') return { resultType: 'success', textResultForLlm: returned }
    return { resultType: 'success', textResultForLlm: text, data: JSON.parse(text) as JsonValue }
  } catch (error) {
    return toolFailure('RESULT_INVALID', error instanceof Error ? error.message : String(error))
  }
}

/**
 * The JSON text of a value. JSON.stringify would omit or replace some values. For these, this function throws, so that the author
 * notices it.
 */
function jsonText(value: unknown): string {
  return JSON.stringify(value, (key, child: unknown) => {
    const place = key === '' ? 'the result' : `'${key}' of the result`
    if (typeof child === 'number' && !Number.isFinite(child))
      throw new TypeError(`${place} is ${child}, which JSON has no form for`)
    if (child === undefined || typeof child === 'function' || typeof child === 'symbol')
      throw new TypeError(`${place} is ${typeof child}, which JSON has no form for`)
    // JSON.stringify escapes a lone surrogate, so `isWellFormed` of the JSON text would not find it.
    if (typeof child === 'string' && !child.isWellFormed())
      throw new TypeError(`${place} holds a lone surrogate, which is no text`)
    return child
  })
}

/** The resources that a call used, as the kernel measured them. */
export type ResourceUsage = {
  readonly wallMs: number
  readonly cpuMs: number
  readonly maxRssBytes: number
}

/**
 * A consent that somebody must give before a tool can be called. If `of` is `module`, the owner of the module or an admin must
 * accept its grants. If `of` is `caller`, the caller must consent that the tool gets the caller's own secrets.
 */
export type AskedConsent = {
  readonly of: 'module' | 'caller'
  readonly module: string
  readonly layer: Layer
  readonly grantsDigest: Digest
}

/** Facts about a call. A field is null if the call has ended before its value was known. */
export type InvocationMeta = {
  readonly invocationId: string
  /** The canonical name of the tool, or null if the tool was not found. */
  readonly tool: string | null
  readonly digest: Digest | null
  /** The revision of the catalog in which the tool was looked up. */
  readonly revision: string | null
  /** The measured isolation level. Null if nothing ran or if the service itself ran the tool. */
  readonly isolation: string | null
  readonly executionTimeMs: number
  readonly resourceUsage: ResourceUsage | null
  /** True if this result was kept from an earlier call. */
  readonly replayed: boolean
  /** How many calls the process of the tool had served before. Absent if it had served none. */
  readonly reused?: number
  /** The id of the artifact that contains the whole result. */
  readonly artifact?: string
  /** How often the tool was called, with this call. Absent if it was called once. */
  readonly attempts?: number
  /** The tool whose place this result's tool has taken, because that tool has failed. */
  readonly fallbackFor?: string
  /** True if the result is only a part of what was asked, because the tool has failed. */
  readonly degraded?: boolean
  /** The approval that the call waits for. `expiresAt` is RFC 3339 in UTC. */
  readonly approval?: { readonly id: string; readonly expiresAt: string }
  /** The consent that the call lacks, if its code is GRANTS_PENDING. */
  readonly consent?: AskedConsent
  /** What the rules have decided about the call. Absent if there are no rules, or if no tool was found. */
  readonly decision?: RuleDecision
  /** The grants that the tool had in this call. Absent if it asks for none, or if nothing ran. */
  readonly grants?: readonly Grant[]
}

/** The service's answer to one call. */
export type InvocationResult<Data = JsonValue> = ToolResult<Data> & { readonly meta: InvocationMeta }
