import type { JsonValue } from '../json.ts'
import { isCallId } from './call-id.ts'
import { findCalls } from './find-calls.ts'
import type { CallsFault } from './find-calls.ts'
import type { ToolCall, WireFormat } from './tool-call.ts'

/** How many calls one request to the service may bring. */
export const CALLS_MAX = 64

export type ReadCalls = { readonly format: WireFormat; readonly calls: readonly ToolCall[] }

/** A model's raw calls as calls, or what is wrong with the first that can not be one. */
export function readCalls(body: JsonValue): ReadCalls | CallsFault {
  const found = findCalls(body)
  if ('fault' in found) return found
  const { format, items } = found
  if (!format) return { fault: 'holds no tool call of a known format' }
  if (items.length > CALLS_MAX)
    return { fault: `holds ${items.length} calls; send ${CALLS_MAX} at a time at the most` }
  const calls: ToolCall[] = []
  for (const { item, index } of items) {
    const id = format.id(item)
    const call = idFault(format, id) ?? format.read(item)
    if (typeof call === 'string') return { fault: `has a call that can not be read: item ${index} ${call}` }
    calls.push({ ...call, id: isCallId(id) ? id : undefined, index, item })
  }
  const twice = calledTwice(calls)
  if (twice) return { fault: `has two calls of one id: items ${twice[0]} and ${twice[1]}; nothing was run` }
  return { format, calls }
}

function idFault(format: WireFormat, id: JsonValue | undefined): string | undefined {
  if (isCallId(id)) return undefined
  return format.idFault ?? (id === undefined ? undefined : 'must have an id that is a text, or none')
}

/** No vendor takes two answers to one call, so neither of the two is run. */
function calledTwice(calls: readonly ToolCall[]): readonly [number, number] | undefined {
  const indices = new Map<string, number>()
  for (const { id, index } of calls) {
    if (id === undefined) continue
    const first = indices.get(id)
    if (first !== undefined) return [first, index]
    indices.set(id, index)
  }
  return undefined
}
