import type {
  AnsweredCall,
  InvocationResult,
  JsonObject,
  ReadCalls,
  ToolCall,
  WireFormat,
} from '@toolrack/contract'
import { ToolrackError } from '@toolrack/contract'
import type { Principal } from '../access/principal.ts'
import type { CallRequest } from '../invoke/call.ts'
import type { Invoker } from '../invoke/invoker.ts'
import { callArguments } from '../invoke/parse-call-request.ts'
import { readJson } from '../json/read-json.ts'

/** Calls of one request that run at the same time: as many as a runner has slots. */
export const AT_ONCE = 8

/** UTF-8 bytes of one call's arguments, as where it is made alone. */
const ARGUMENTS_BYTES_MAX = 256 * 1024

export type DispatchAnswer = {
  readonly format: WireFormat['name']
  /** What to append to the conversation, in the vendor's shape; the calls that are left to the client are not in it. */
  readonly messages: readonly JsonObject[]
  /** One for each call, in order; null for one that is left to the client. */
  readonly results: readonly {
    readonly index: number
    readonly id: string | null
    readonly name: string
    readonly result: InvocationResult | null
  }[]
  /** Calls of tools that run at the client, as they came. */
  readonly pending: readonly {
    readonly index: number
    readonly id: string | null
    /** The canonical name. */
    readonly name: string
    readonly call: JsonObject
  }[]
}

/** Runs a model's calls, a few at a time, each as if it had come alone; answers in their order. */
export async function dispatch(
  invoker: Invoker,
  principal: Principal,
  { format, calls }: ReadCalls,
  signal: AbortSignal,
): Promise<DispatchAnswer> {
  const results = await eachInTurn(calls, AT_ONCE, async (call) => {
    const { result } = await invoker.invoke(principal, () => requestOf(call, format), signal)
    return { call, result }
  })
  const answered = results.filter((one) => !isLeftToClient(one))
  return {
    format: format.name,
    messages: format.messages(answered),
    results: results.map((one) => ({
      ...identity(one.call),
      result: isLeftToClient(one) ? null : one.result,
    })),
    pending: results.filter(isLeftToClient).map(({ call, result }) => ({
      ...identity(call),
      name: result.meta.tool ?? call.name,
      call: call.item,
    })),
  }
}

function isLeftToClient({ result }: AnsweredCall<InvocationResult>): boolean {
  return result.resultType === 'failure' && result.code === 'RUNS_AT_CLIENT'
}

function identity({ index, id, name }: ToolCall) {
  return { index, id: id ?? null, name }
}

/** Strict models, which only OpenAI has, write null for what they leave out. */
function requestOf({ name, arguments: sent }: ToolCall, format: WireFormat): CallRequest {
  const args = 'text' in sent ? argumentsIn(sent.text) : callArguments(sent.value)
  const nullLeavesOut = format.name === 'openai' || format.name === 'openai-responses'
  return { name, arguments: args, context: {}, expectedDigest: undefined, nullLeavesOut }
}

/** Models write the arguments as a text, and not always as JSON; none at all means that there are none. */
function argumentsIn(text: string): JsonObject {
  if (text.trim() === '') return {}
  const bytes = Buffer.from(text)
  if (bytes.length > ARGUMENTS_BYTES_MAX)
    throw new ToolrackError(
      'BODY_TOO_LARGE',
      `The arguments have ${bytes.length} bytes; at most ${ARGUMENTS_BYTES_MAX} are taken.`,
    )
  const json = readJson(bytes, Infinity)
  if ('value' in json) return callArguments(json.value)
  const { pointer, message } = json.fault
  throw new ToolrackError(
    'ARGUMENTS_INVALID',
    `The arguments are a JSON text that ${message}${pointer && ` (at ${pointer})`}; send it again as one whole JSON object.`,
  )
}

/** Never more than so many at a time; the results in the order of the items. */
async function eachInTurn<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  act: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const waiting = items.entries()
  async function work(): Promise<void> {
    for (const [index, item] of waiting) results[index] = await act(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
  return results
}
