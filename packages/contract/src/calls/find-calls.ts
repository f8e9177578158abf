import { isJsonObject } from '../json.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import { anthropicFormat } from './anthropic-format.ts'
import { geminiFormat } from './gemini-format.ts'
import { openaiFormat } from './openai-format.ts'
import { responsesFormat } from './responses-format.ts'
import type { WireFormat } from './tool-call.ts'

const FORMATS: readonly WireFormat[] = [openaiFormat, responsesFormat, anthropicFormat, geminiFormat]

/** Where the vendors put the items; what lies beside them in a message is theirs. */
const WRAPPERS = ['tool_calls', 'output', 'content', 'parts']

/** Parts of Gemini's that are no calls; they have no type to tell them by. */
const GEMINI_PARTS = ['text', 'thought', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult']

/** A model's calls as they were sent, all of one format and none of them read yet. */
export type FoundCalls = {
  /** Undefined where there is no call. */
  readonly format: WireFormat | undefined
  readonly items: readonly { readonly item: JsonObject; readonly index: number }[]
}

/** What is wrong with a body of calls, to go behind "the body". */
export type CallsFault = { readonly fault: string }

/** The calls in what a model has answered: the bare list of its items, or the message that holds it. */
export function findCalls(body: JsonValue): FoundCalls | CallsFault {
  const list = listIn(body)
  if (!list)
    return {
      fault: 'must be a list of tool calls, or an object with one of tool_calls, output, content and parts',
    }
  const items: { readonly item: JsonObject; readonly index: number }[] = []
  let first: { readonly format: WireFormat; readonly index: number } | undefined
  for (const [index, item] of list.entries()) {
    if (!isJsonObject(item)) return { fault: `has an item ${index} that is no JSON object` }
    const format = FORMATS.find(({ isCall }) => isCall(item))
    if (!format) {
      if (isSaidBeside(item)) continue
      return { fault: `has an item ${index} that is no tool call of a known format` }
    }
    first ??= { format, index }
    if (format !== first.format)
      return {
        fault: `mixes formats: item ${first.index} is one of ${first.format.name}, item ${index} one of ${format.name}`,
      }
    items.push({ item, index })
  }
  return { format: first?.format, items }
}

/** What a model says beside its calls is passed over: texts, thoughts, and calls that the vendor runs itself. */
function isSaidBeside(item: JsonObject): boolean {
  const { type } = item
  if (typeof type === 'string') return type !== 'function'
  return type === undefined && GEMINI_PARTS.some((key) => item[key] !== undefined)
}

function listIn(body: JsonValue): readonly JsonValue[] | undefined {
  if (Array.isArray(body)) return body as readonly JsonValue[]
  if (!isJsonObject(body)) return undefined
  const lists = WRAPPERS.map((key) => body[key]).filter((value) => Array.isArray(value))
  // A message that only speaks.
  if (lists.length === 0 && typeof body['role'] === 'string') return []
  return lists.length === 1 ? (lists[0] as readonly JsonValue[]) : undefined
}
