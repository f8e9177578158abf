import type {
  AnsweredCall,
  InvocationResult,
  JsonObject,
  JsonValue,
  ReadCalls,
  ToolCall,
  WireFormat,
} from '@toolrack/contract'
import { readCalls, ToolrackError } from '@toolrack/contract'
import type { Asked, CallHeaders, CallRequest, Pipeline, ResultData } from '../pipeline/call.ts'
import { callArguments } from '../pipeline/parse-call-request.ts'
import type { Holding } from './held-results.ts'
import { LongWork } from '../../loop-turn.ts'
import { JsonText } from '../../tools/json/json-text.ts'
import { readJson } from '../../tools/json/read-json.ts'

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
    readonly result: InvocationResult<ResultData> | null
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

/** The one place where a model's raw calls become calls. Throws what is wrong with them before any of them is run. */
export function parseCalls(body: JsonValue): ReadCalls {
  const read = readCalls(body)
  if ('fault' in read) throw new ToolrackError('BODY_INVALID', `The body ${read.fault}.`)
  return read
}

/** Who sent the calls, as for one call. */
export type Sender = Pick<Asked, 'principal' | 'signal'> & { readonly headers: CallHeaders }

/** Runs a model's calls, a few at a time, each through the same pipeline as a single call; answers in their order. `held` counts the results. */
export async function dispatch(
  pipeline: Pipeline,
  sender: Sender,
  { format, calls }: ReadCalls,
  held: Holding,
): Promise<DispatchAnswer> {
  const results = await eachInTurn(calls, AT_ONCE, async (call) => {
    const headers = headersOf(call, sender.headers)
    const asked = { ...sender, headers, read: () => requestOf(call, format) }
    const { result } = await invokeHeld(pipeline, asked, held)
    // Here and not for all at the end: for a large result it takes some of a millisecond.
    return { call, result, told: forModel({ call, result }) }
  })
  const answered = results.filter((one) => !isLeftToClient(one)).map(({ told }) => told)
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

/** A call for whose result there is no room becomes a failure that its model reads, as every other one. */
async function invokeHeld(pipeline: Pipeline, asked: Asked, held: Holding) {
  try {
    return await held.run(() => pipeline.invoke(asked))
  } catch (error) {
    return pipeline.invoke({ ...asked, read: () => Promise.reject(error) })
  }
}

function isLeftToClient({ result }: AnsweredCall<InvocationResult<ResultData>>): boolean {
  return result.resultType === 'failure' && result.code === 'RUNS_AT_CLIENT'
}

/** As a format takes it: it gives a model the text of a value that JavaScript reads only nearly, and of null. */
function forModel(answered: AnsweredCall<InvocationResult<ResultData>>): AnsweredCall {
  const { call, result } = answered
  if (result.resultType === 'failure' || !(result.data instanceof JsonText)) return answered
  return result.data.isExact() ? answered : { call, result: { ...result, data: undefined } }
}

function identity({ index, id, name }: ToolCall) {
  return { index, id: id ?? null, name }
}

/** The calls of one request need a key each: the header's, and what tells the call from its siblings. No header holds a line feed. */
function headersOf({ id, index }: ToolCall, { idempotencyKey, ...headers }: CallHeaders): CallHeaders {
  if (idempotencyKey === undefined) return { ...headers, idempotencyKey }
  return { ...headers, idempotencyKey: `${idempotencyKey}\n${id ?? index}` }
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
  // Its bytes would hold U+FFFD in place of it, and the tool would be run on another text.
  if (!text.isWellFormed())
    throw new ToolrackError(
      'ARGUMENTS_INVALID',
      'The arguments hold a lone surrogate, which is no text; send the whole character.',
    )
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
  const reading = new LongWork()
  async function work(): Promise<void> {
    for (const [index, item] of waiting) {
      // Reading large arguments takes long, and all calls that are at once begin in the same turn of the event loop.
      if (reading.isLong) await reading.giveTurn()
      results[index] = await act(item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
  return results
}
