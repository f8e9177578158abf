import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, ToolrackError } from '@toolrack/contract'
import { anthropicFormat } from './anthropic-format.ts'
import { geminiFormat } from './gemini-format.ts'
import { openaiFormat } from './openai-format.ts'
import { responsesFormat } from './responses-format.ts'
import type { ToolCall, WireFormat } from './tool-call.ts'

/** How many calls one request may bring. */
export const CALLS_MAX = 64

export const FORMATS: readonly WireFormat[] = [openaiFormat, responsesFormat, anthropicFormat, geminiFormat]

/** Where the vendors put the items; what lies beside them in a message is theirs. */
const WRAPPERS = ['tool_calls', 'output', 'content', 'parts'] as const

export type ReadCalls = { readonly format: WireFormat; readonly calls: readonly ToolCall[] }

/** The one place where a model's raw calls become calls. Throws what is wrong with them before any of them is run. */
export function readCalls(body: JsonValue): ReadCalls {
  const items = itemsOf(body)
  const found = items.flatMap((item, index) => findCall(item, index))
  const [first] = found
  if (!first) throw invalid('holds no tool call of a known format')
  if (found.length > CALLS_MAX)
    throw invalid(`holds ${found.length} calls; send ${CALLS_MAX} at a time at the most`)
  const other = found.find(({ format }) => format !== first.format)
  if (other)
    throw invalid(
      `mixes formats: item ${first.index} is one of ${first.format.name}, item ${other.index} one of ${other.format.name}`,
    )
  const calls = found.map(({ format, item, index }): ToolCall => {
    const call = format.read(item)
    if (typeof call === 'string') throw invalid(`has a call that can not be read: item ${index} ${call}`)
    return { ...call, index, item }
  })
  refuseTwice(calls)
  return { format: first.format, calls }
}

type FoundCall = { readonly format: WireFormat; readonly item: JsonObject; readonly index: number }

/** What a model says beside its calls is passed over: texts, thoughts, and calls that the vendor runs itself. */
function findCall(item: JsonValue, index: number): readonly FoundCall[] {
  if (!isJsonObject(item)) throw invalid(`has an item ${index} that is no JSON object`)
  const format = FORMATS.find(({ isCall }) => isCall(item))
  if (format) return [{ format, item, index }]
  if (typeof item['type'] === 'string' && item['type'] !== 'function') return []
  if (item['type'] === undefined && GEMINI_PARTS.some((key) => item[key] !== undefined)) return []
  throw invalid(`has an item ${index} that is no tool call of a known format`)
}

/** Parts of Gemini's that are no calls; they have no type to tell them by. */
const GEMINI_PARTS = ['text', 'thought', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult']

function itemsOf(body: JsonValue): readonly JsonValue[] {
  if (Array.isArray(body)) return body as readonly JsonValue[]
  const lists = isJsonObject(body)
    ? WRAPPERS.flatMap((key) => (Array.isArray(body[key]) ? [body[key]] : []))
    : []
  const [only, ...more] = lists
  if (!only || more.length > 0)
    throw invalid(
      'must be a list of tool calls, or an object with one of tool_calls, output, content and parts',
    )
  return only as readonly JsonValue[]
}

/** No vendor takes two answers to one call, so neither of the two is run. */
function refuseTwice(calls: readonly ToolCall[]): void {
  const indices = new Map<string, number>()
  for (const { id, index } of calls) {
    if (id === undefined) continue
    const first = indices.get(id)
    if (first !== undefined)
      throw invalid(`has two calls of one id: items ${first} and ${index}; nothing was run`)
    indices.set(id, index)
  }
}

function invalid(fault: string): ToolrackError {
  return new ToolrackError('BODY_INVALID', `The body ${fault}.`)
}
