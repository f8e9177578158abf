import { CALL_FORMATS, findCalls, isCallId } from '@toolrack/contract'
import type {
  AnsweredCall,
  CallFormat,
  CallFormatName,
  FoundCall,
  JsonObject,
  JsonValue,
  Layer,
  ToolCall,
} from '@toolrack/contract'
import { ToolsError, type CallResult } from './errors.ts'
import type { LeftCall } from './run-at-service.ts'
import type { AskedApproval } from './wait-for-approval.ts'

/** The messages with the answers to a model's calls. */
export type Answered<Message extends object = JsonObject> = {
  /** The format of the calls, or null if there was no call. */
  readonly format: CallFormatName | null
  /** The messages to append after the model's answer. They have the vendor's shape and the order of the calls. */
  readonly messages: Message[]
}

/** The results of a model's calls. If calls are pending, do not append these messages, but those of `complete`. */
export type Dispatched<Message extends object = JsonObject> = Answered<Message> & {
  /** One result for each call that is not pending, in the order of the calls. */
  readonly results: readonly CallResult[]
  /**
   * The calls that were not run: calls of workflows that have no Runner, and calls that wait for an approval. The caller passes
   * their results to `complete`.
   */
  readonly pending: readonly PendingCall[]
}

export type PendingCall = PendingKind &
  Omit<CallResult, 'result'> & {
    /** The layer in which the tool is defined. If it is the layer `user`, the user can choose any `workflowName`. */
    readonly layer: Layer
    /** The arguments as an object. The service has not checked them against the schema. */
    readonly arguments: JsonObject
    /** The call as the model wrote it. */
    readonly call: JsonObject
  }

type PendingKind =
  | { readonly kind: 'workflow'; readonly workflowName: string }
  /** A call that waits for an approval. After the approval is given, `invoke` with `approval: approval.id` makes the call. */
  | { readonly kind: 'approval'; readonly approval: AskedApproval; readonly workflowName?: undefined }

/** Finds the calls in a model's answer, and their format. Throws CALLS_INVALID. */
export function callsIn(answer: object) {
  const found = findCalls(answer as JsonValue, CALL_FORMATS)
  if ('fault' in found) throw new ToolsError('CALLS_INVALID', `The model's answer ${found.fault}.`)
  const { format, items } = found
  return { format, calls: format ? items.map((item) => readCall(format, item, items)) : [] }
}

export function messagesOf<Message extends object>(
  format: CallFormat<CallFormatName>,
  answered: readonly AnsweredCall[],
): Answered<Message> {
  return {
    format: format.name,
    messages: [...format.messages(answered)] as readonly object[] as Message[],
  }
}

/** A call, and its fault if it cannot be run. The text of the fault can follow the words "the call". */
export type ReadCall = ToolCall & { readonly fault?: string }

/**
 * Reads a call. It has a fault if it cannot be read, or if another call has the same id. It is no fault if the format allows
 * calls without an id.
 */
function readCall(format: CallFormat, { item, index }: FoundCall, items: readonly FoundCall[]): ReadCall {
  const sentId = format.id(item)
  const id = isCallId(sentId) ? sentId : undefined
  const read = format.read(item)
  const { nullMeansOmitted } = format
  const call = { index, item, id, name: '', arguments: { text: '' }, nullMeansOmitted }
  if (typeof read === 'string') return { ...call, fault: read }
  const isTwice = id !== undefined && items.filter((other) => format.id(other.item) === id).length > 1
  return { ...call, ...read, ...(isTwice && { fault: 'has the id of another call; neither was run' }) }
}

/** Makes the pending call. Undefined if the tool is not a workflow and the call waits for no approval. */
export function pendingCall(
  { index, id, item }: ReadCall,
  { name, layer, workflowName, approval, arguments: args }: LeftCall,
): PendingCall | undefined {
  const call = { index, id: id ?? null, name, layer, arguments: args, call: item }
  if (approval) return { ...call, kind: 'approval', approval }
  return workflowName === undefined ? undefined : { ...call, kind: 'workflow', workflowName }
}
