import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import type { CallFormat } from './call-format.ts'

/** The fault of a model's answer. Its text can follow the words "the body", as in "the body mixes formats". */
export type CallsFault = { readonly fault: string }

/** The items of a model's answer. The answer is a list of items, or a message with this list. A message may have none. */
export function itemsIn(body: JsonValue, formats: readonly CallFormat[]): readonly JsonValue[] | CallsFault {
  if (isJsonArray(body)) return body
  const message = isJsonObject(body) ? body : {}
  const known = [...new Set(formats.map(({ itemsKey }) => itemsKey))]
  const others = formats.flatMap(({ otherKeys = [] }) => otherKeys)
  const allAt = (key: string): readonly JsonValue[] => {
    const more = formats.find((one) => one.itemsKey === key && one.moreItemsKey)?.moreItemsKey
    return [...itemsAt(message, key), ...(more ? itemsAt(message, more) : [])]
  }
  const filled = [...new Set([...known, ...others])].filter((key) => allAt(key).length > 0)
  const writers = formats.filter(({ itemsKey }) => filled.includes(itemsKey))
  const notRead = new Set(writers.flatMap(({ otherKeys = [] }) => otherKeys))
  const [key, ...more] = filled.filter((one) => !notRead.has(one))
  if (more.length > 0 || (key === undefined && !isMessage(message, known)))
    return { fault: `must be a list of tool calls, or an object with one of ${inWords(known)}` }
  if (key !== undefined) return allAt(key)
  const unread = Object.keys(message).filter((other) => !DEFINITIONS.test(other))
  if (unread.some((other) => itemsAt(message, other).some(looksLikeCall)))
    return { fault: `has a tool call, but not in one of ${inWords(known)}` }
  return []
}

/** Matches the keys under which an answer repeats the definitions that the model was given. A definition looks like a call. */
const DEFINITIONS = /^(?:tools|functions)$/
const NAMES = ['name', 'toolName', 'tool_name', 'toolCallId']
const ARGUMENTS = ['arguments', 'args', 'input', 'parameters']
const RESULTS = ['output', 'result', 'error']

/**
 * True for an item that looks like a call and not like a result. It names a tool and has arguments, directly or in one of its
 * values, such as `{"type":"custom","custom":{"name","input"}}`. Also true for an item with a `type` and a `call_id`, because it
 * waits for an answer too.
 */
export function looksLikeCall(item: JsonValue): boolean {
  if (!isJsonObject(item) || hasOne(item, RESULTS)) return false
  if (typeof item['type'] === 'string' && typeof item['call_id'] === 'string') return true
  return [item, ...Object.values(item)].some(
    (one) => isJsonObject(one) && hasOne(one, NAMES) && hasOne(one, ARGUMENTS) && !hasOne(one, RESULTS),
  )
}

function hasOne(item: JsonObject, keys: readonly string[]): boolean {
  return keys.some((key) => item[key] !== undefined && item[key] !== null)
}

function itemsAt(message: JsonObject, key: string): readonly JsonValue[] {
  const value = message[key]
  if (isJsonArray(value)) return value
  return isJsonObject(value) ? [value] : []
}

/** True for a message without calls. Some vendors' messages have no `role`. */
function isMessage(message: JsonObject, keys: readonly string[]): boolean {
  const { role, content } = message
  return (
    typeof role === 'string' || typeof content === 'string' || keys.some((key) => isJsonArray(message[key]))
  )
}

function inWords(keys: readonly string[]): string {
  return `${keys.slice(0, -1).join(', ')} and ${keys.at(-1)}`
}
