import type { JsonObject, JsonValue } from '../json.ts'
import type { ToolResult } from '../tool-result.ts'
import type { AnsweredImage, ImageRules } from './answer-images.ts'

/** One call that a model of any vendor made. */
export type ToolCall = {
  /** The index of the call in the model's answer, counted among all of its items. */
  readonly index: number
  /** The id by which a call and its answer belong together. Only Gemini allows calls without an id. */
  readonly id: string | undefined
  readonly name: string
  /** The arguments as the vendor sends them: as a JSON text, or as an object. */
  readonly arguments: { readonly text: string } | { readonly value: JsonValue }
  /** The item that the call was read from. */
  readonly item: JsonObject
  /** The `nullMeansOmitted` of the call's format. */
  readonly nullMeansOmitted: boolean
}

export type AnsweredCall<Result extends ToolResult<unknown> = ToolResult<unknown>> = {
  readonly call: Pick<ToolCall, 'id' | 'name'>
  readonly result: Result
  /** The bytes of images in `result.content`: of those that `imagesToShow` names. For any other image the model reads a sentence. */
  readonly images?: readonly AnsweredImage[] | undefined
}

/**
 * How a vendor's models write calls, and which messages the vendor takes as answers. The text of a fault is written after "the
 * call": "the call must have an id".
 */
export type CallFormat<Name extends string = string> = {
  readonly name: Name
  /** The dialect in which the vendor accepts tools. Undefined for a format without a dialect. */
  readonly dialect?: string
  /** The key in a message under which its list of items is, or its only item, such as `tool_calls`. */
  readonly itemsKey: string
  /** The key of a second list of items in the same message. These items come after those of `itemsKey`. */
  readonly moreItemsKey?: string
  /** Other keys of the same message that may contain calls. They are read only if `itemsKey` has no items. */
  readonly otherKeys?: readonly string[]
  /** True for an item that is a call in this format, even if the call is malformed. */
  readonly isCall: (item: JsonObject) => boolean
  /**
   * True for an item that must be skipped although its `type` alone does not say so. It is a text without a `type`, or a call
   * that the vendor runs itself, with a name and arguments.
   */
  readonly isOther?: (item: JsonObject) => boolean
  /** The id of a call as the model sent it. The id can have any type. */
  readonly id: (item: JsonObject) => JsonValue | undefined
  /** The text of the fault if a call has no valid id. It is undefined for a format in which a call needs no id. */
  readonly idFault?: string
  /** Reads a call, or returns its fault. */
  readonly read: (item: JsonObject) => Pick<ToolCall, 'name' | 'arguments'> | string
  /**
   * True if null as an argument can mean that the argument was omitted. In OpenAI's strict mode a model must write every
   * argument, so it writes null for each one that it omits.
   */
  readonly nullMeansOmitted: boolean
  /** The images that the vendor takes in the answer to a call. Undefined if it takes none. */
  readonly images?: ImageRules
  /** The messages with the answers, in the order of the calls. The caller appends them to the conversation. */
  readonly messages: (answered: readonly AnsweredCall[]) => readonly JsonObject[]
}
