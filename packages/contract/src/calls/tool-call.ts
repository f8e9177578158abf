import type { JsonObject, JsonValue } from '../json.ts'
import type { ToolResult } from '../tool-result.ts'

/** One call as a model made it, of whatever vendor. */
export type ToolCall = {
  /** Its place among all that was sent. */
  readonly index: number
  /** What the vendor pairs the answer with; only Gemini's calls may have none. */
  readonly id: string | undefined
  readonly name: string
  /** The arguments as the vendor sends them: a JSON text, or an object. */
  readonly arguments: { readonly text: string } | { readonly value: JsonValue }
  /** The item itself. */
  readonly item: JsonObject
}

/** A call with what came of it. */
export type AnsweredCall<Result extends ToolResult<unknown> = ToolResult<unknown>> = {
  readonly call: Pick<ToolCall, 'id' | 'name'>
  readonly result: Result
}

/** How one vendor writes calls, and wants their answers. */
export type WireFormat = {
  readonly name: 'openai' | 'openai-responses' | 'anthropic' | 'gemini'
  /** Whether the item is a call of this format, well-formed or not. */
  readonly isCall: (item: JsonObject) => boolean
  /** What an item of this format has for an id, whatever that is. */
  readonly id: (item: JsonObject) => JsonValue | undefined
  /** What is wrong with a call without an id, to go behind "it"; undefined where it needs none. */
  readonly idFault: string | undefined
  /** The call that an item is, or what is wrong with it, to go behind "it". */
  readonly read: (item: JsonObject) => Pick<ToolCall, 'name' | 'arguments'> | string
  /** The messages to append to the conversation, in the order of the calls. */
  readonly messages: (answered: readonly AnsweredCall[]) => readonly JsonObject[]
}
