import type { JsonObject, JsonValue } from '../json.ts'
import type { ToolResult } from '../tool-result.ts'

/** One call as a model made it, of any vendor. */
export type ToolCall = {
  /** Its place among all items that were sent. */
  readonly index: number
  /** Pairs the call with its answer. Only Gemini allows calls without one. */
  readonly id: string | undefined
  readonly name: string
  /** The arguments as the vendor sends them: a JSON text, or an object. */
  readonly arguments: { readonly text: string } | { readonly value: JsonValue }
  /** The item that the call was read from. */
  readonly item: JsonObject
  /** Whether a null argument can mean that the parameter was omitted: a fact of the format. */
  readonly nullMeansOmitted: boolean
}

export type AnsweredCall<Result extends ToolResult<unknown> = ToolResult<unknown>> = {
  readonly call: Pick<ToolCall, 'id' | 'name'>
  readonly result: Result
}

/** How a vendor's models write calls, and how the vendor wants the answers. A fault goes behind "the call". */
export type CallFormat<Name extends string = string> = {
  readonly name: Name
  /** The key under which a message holds the items, beside fields of the vendor's own. */
  readonly itemsKey: string
  /** True for an item that is a call in this format, also if it is malformed. */
  readonly isCall: (item: JsonObject) => boolean
  /** True for an item without a `type` that is not a call, such as a text. It is skipped. */
  readonly isOther?: (item: JsonObject) => boolean
  /** The id of a call, whatever type of value it is. */
  readonly id: (item: JsonObject) => JsonValue | undefined
  /** The fault of a call without a valid id. Leave it out if a call needs no id. */
  readonly idFault?: string
  /** Reads a call, or returns its fault. */
  readonly read: (item: JsonObject) => Pick<ToolCall, 'name' | 'arguments'> | string
  /**
   * True if a null argument can mean that the parameter was omitted. Models in OpenAI's strict mode must write every
   * parameter, so they write null for the ones that they leave out.
   */
  readonly nullMeansOmitted: boolean
  /** The messages to append to the conversation, in the order of the calls. */
  readonly messages: (answered: readonly AnsweredCall[]) => readonly JsonObject[]
}
