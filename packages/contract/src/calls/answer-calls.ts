import { isJsonObject } from '../json.ts'
import { isToolResult, toolResult, type ToolResult } from '../tool-result.ts'
import { isAnsweredImage, type AnsweredImage } from './answer-images.ts'
import type { AnsweredCall, ToolCall } from './call-format.ts'
import type { CallsFault } from './call-items.ts'

/** What a caller reports as the result of a call: a ToolResult, a text for the model, or the answer of a workflow. */
export type ReportedResult =
  ToolResult<unknown> | string | { readonly encoded: string; readonly cost?: number | undefined }

/**
 * Pairs calls with their results. `results` is a list of `{ index, result, images? }` in any order. Returns a fault unless there is
 * exactly one result for each call. The text of the fault can follow the words "the list of results".
 */
export function answerCalls(
  calls: readonly Pick<ToolCall, 'index' | 'id' | 'name'>[],
  results: unknown,
): readonly AnsweredCall[] | CallsFault {
  if (!Array.isArray(results)) return { fault: 'is not an array' }
  const byIndex = new Map<unknown, (typeof calls)[number]>(calls.map((call) => [call.index, call]))
  const found = new Map<unknown, Pick<AnsweredCall, 'result' | 'images'>>()
  for (const [at, item] of results.entries()) {
    const { index, id, result: reported, images } = isJsonObject(item) ? item : {}
    const call = byIndex.get(index)
    if (!call) return { fault: `has an item ${at} without the index of a call` }
    // A caller may send back the items of a dispatch's answer unchanged. Such an item also has an `id`, and its result is null if
    // the call is pending.
    if (reported === null) continue
    if (found.has(index)) return { fault: `has two results for the call with the index ${call.index}` }
    if (id !== undefined && id !== (call.id ?? null))
      return { fault: `has an item ${at} that has the id of another call` }
    const result = resultIn(reported)
    if (!result)
      return { fault: `has an item ${at} whose result is not a ToolResult, a text or {"encoded": "…"}` }
    if (images !== undefined && !isImages(images))
      return { fault: `has an item ${at} whose images are not a list of {"artifact","mimeType","data"}` }
    found.set(index, { result, images })
  }
  const answered: AnsweredCall[] = []
  for (const call of calls) {
    const answer = found.get(call.index)
    if (!answer) return { fault: `has no result for the call with the index ${call.index}` }
    answered.push({ call, ...answer })
  }
  return answered
}

function isImages(images: unknown): images is readonly AnsweredImage[] {
  return Array.isArray(images) && images.every(isAnsweredImage)
}

function resultIn(reported: unknown): ToolResult<unknown> | undefined {
  if (typeof reported === 'string') return toolResult(reported)
  if (!isJsonObject(reported)) return undefined
  const { resultType, textResultForLlm, encoded } = reported
  if (resultType === undefined) return typeof encoded === 'string' ? toolResult(encoded) : undefined
  // A failure may lack the field `error`, because the messages of some vendors have no such field.
  const whole: unknown = { error: textResultForLlm, ...reported }
  return isToolResult(whole) ? whole : undefined
}
