import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import type { CallFormat, ToolCall } from './call-format.ts'
import { itemsIn, looksLikeCall, type CallsFault } from './call-items.ts'

/**
 * The most calls in one request to the service. This limits the work for a request and the size of its results. The client
 * distributes more calls over several requests.
 */
export const CALLS_MAX = 64

/** The largest number of characters in a call's id. The ids of all vendors are far shorter. */
const ID_LENGTH_MAX = 512

/** The calls that were found in a model's answer, before they are read. All of them have the same format. */
export type FoundCalls<Name extends string = string> = {
  /** Undefined if there is no call. */
  readonly format: CallFormat<Name> | undefined
  readonly items: readonly FoundCall[]
}

export type FoundCall = { readonly item: JsonObject; readonly index: number }

export type ReadCalls<Name extends string = string> = {
  readonly format: CallFormat<Name>
  readonly calls: readonly ToolCall[]
}

/** Finds the calls in a model's answer, which is a list of items, or a message with this list. */
export function findCalls<Name extends string>(
  body: JsonValue,
  formats: readonly CallFormat<Name>[],
): FoundCalls<Name> | CallsFault {
  const list = itemsIn(body, formats)
  if ('fault' in list) return list
  const items: FoundCall[] = []
  let first: { readonly format: CallFormat<Name>; readonly index: number } | undefined
  for (const [index, item] of list.entries()) {
    if (!isJsonObject(item)) return { fault: `has an item ${index} that is not a JSON object` }
    const format = formats.find(({ isCall }) => isCall(item))
    if (!format && isOther(item, formats)) continue
    if (!format) {
      const known = formats.map(({ name }) => name).join(', ')
      return { fault: `has an item ${index} that is not a tool call of a known format (${known})` }
    }
    first ??= { format, index }
    if (format !== first.format)
      return {
        fault: `mixes formats: item ${first.index} is a call of ${first.format.name}, item ${index} one of ${format.name}`,
      }
    items.push({ item, index })
  }
  return { format: first?.format, items }
}

/** Reads the calls in a model's answer. If a call cannot be read, returns the fault of the first such call. */
export function readCalls<Name extends string>(
  body: JsonValue,
  formats: readonly CallFormat<Name>[],
): ReadCalls<Name> | CallsFault {
  const found = findCalls(body, formats)
  if ('fault' in found) return found
  const { format, items } = found
  if (!format) return { fault: 'holds no tool call of a known format' }
  if (items.length > CALLS_MAX)
    return { fault: `holds ${items.length} calls; send at most ${CALLS_MAX} at a time` }
  const calls: ToolCall[] = []
  for (const { item, index } of items) {
    const sentId = format.id(item)
    const id = isCallId(sentId) ? sentId : undefined
    const call = (id === undefined && idFault(format, sentId)) || format.read(item)
    if (typeof call === 'string') return { fault: `has a call that cannot be read: item ${index} ${call}` }
    calls.push({ ...call, id, index, item, nullMeansOmitted: format.nullMeansOmitted })
  }
  for (const { id, index } of calls) {
    const first = calls.find((call) => call.id === id)?.index ?? index
    // No vendor accepts two answers with the same id, so none of these two calls may run.
    if (id !== undefined && first !== index)
      return { fault: `has two calls with one id: items ${first} and ${index}; nothing was run` }
  }
  return { format, calls }
}

export function isCallId(id: JsonValue | undefined): id is string {
  return typeof id === 'string' && id !== '' && id.length <= ID_LENGTH_MAX
}

function idFault({ idFault: fault }: CallFormat, sent: JsonValue | undefined): string | undefined {
  return fault ?? (sent === undefined ? undefined : 'must have a string as its id, or no id')
}

/**
 * True for an item that is skipped: a text, a thought, or a call that the vendor runs itself. An item that looks like any other
 * call is never skipped, because the model waits for its answer.
 */
function isOther(item: JsonObject, formats: readonly CallFormat[]): boolean {
  const { type } = item
  if (type === 'function') return false
  if (formats.some((format) => format.isOther?.(item))) return true
  return typeof type === 'string' && !looksLikeCall(item)
}
