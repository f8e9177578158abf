import type {
  AnsweredCall,
  AnsweredImage,
  CallFormatName,
  ErrorCode,
  ImageRules,
  InvocationResult,
  JsonObject,
  JsonValue,
  Layer,
  ReadCalls,
  ToolCall,
} from '@toolrack/contract'
import { CALL_FORMATS, imagesToShow, readCalls, ToolrackError } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import type { Asked, CallHeaders, CallRequest, Invocation, Pipeline, ResultData } from '../../calls/call.ts'
import { callArguments } from '../../calls/pipeline/parse-call-request.ts'
import type { Holding } from './held-results.ts'
import { Turns } from '../../loop-turn.ts'
import { JsonText } from '../../json/json-text.ts'
import { readJson } from '../../json/read-json.ts'

/** How many calls of one request run at the same time. A runner has the same number of slots. */
export const AT_ONCE = 8

/** The UTF-8 bytes that the arguments of one call may have. A call that is sent alone has the same limit. */
const ARGUMENTS_BYTES_MAX = 256 * 1024

type DispatchAnswer = {
  readonly format: CallFormatName
  /** The messages to append to the conversation. There is none for a pending call. */
  readonly messages: readonly JsonObject[]
  /** One entry for each call, in the order of the calls. The result is null for a pending call. */
  readonly results: readonly (Identity & { readonly result: InvocationResult<ResultData> | null })[]
  /** The calls of tools that run at the client, and those that wait for an approval, with their canonical names. */
  readonly pending: readonly PendingCall[]
}

type PendingCall = Identity & {
  /**
   * The layer of the definition. In the layer `user`, the user has chosen `workflowName`. In the other layers, the operator has.
   */
  readonly layer: Layer
  readonly kind: 'client' | 'workflow' | 'approval'
  readonly workflowName?: string
  /** The approval that the call waits for. When it is approved, the caller makes the call with `invoke`. */
  readonly approval?: NonNullable<Invocation['approval']>
  /** The arguments as an object. They are checked against the schema only if the service runs the tool. */
  readonly arguments: JsonObject
  readonly call: JsonObject
}

type Identity = { readonly index: number; readonly id: string | null; readonly name: string }

/** Reads a model's raw calls before any of them runs. Throws CALLS_INVALID if one of them cannot be read. */
export function parseCalls(body: JsonValue): ReadCalls<CallFormatName> {
  const read = readCalls(body, CALL_FORMATS)
  if ('fault' in read) throw new ToolrackError('CALLS_INVALID', `The body ${read.fault}.`)
  return read
}

/** Reads the bytes of images in results. Undefined for one that the caller may not read, or that is gone. */
export type ReadImage = (principal: Principal, artifact: string) => Promise<Uint8Array | undefined>

/**
 * Runs a model's calls, each like a single call, at most AT_ONCE at a time. `held` counts the bytes of the results, and of the
 * images that the model sees. Without `readImage`, the model reads a sentence for each image.
 */
export async function dispatch(
  pipeline: Pipeline,
  sender: Required<Pick<Asked, 'principal' | 'signal' | 'headers'>> & Pick<Asked, 'sessionId' | 'tellLimits'>,
  { format, calls }: ReadCalls<CallFormatName>,
  held: Holding,
  readImage?: ReadImage,
): Promise<DispatchAnswer> {
  const outcomes = await eachInTurn(calls, async (call) => {
    const headers = headersOf(call, sender.headers)
    const asked = { ...sender, headers, cutsText: true, read: () => requestOf(call, format.dialect) }
    const invocation = await invokeHeld(pipeline, asked, held)
    const { result } = invocation
    const { index, id = null, name } = call
    if (result.resultType === 'failure' && PENDING.has(result.code))
      return {
        result: { index, id, name, result: null },
        pending: [pendingCall(call, invocation)],
        answered: [],
      }
    // `forModel` takes a fraction of a millisecond for a large result. So each result is prepared here, and not all in one turn.
    return { result: { index, id, name, result }, pending: [], answered: [forModel({ call, result })] }
  })
  const answered = outcomes.flatMap((one) => one.answered)
  const images = readImage
    ? await shownImages(answered, format.images, held, (id) => readImage(sender.principal, id))
    : []
  return {
    format: format.name,
    messages: format.messages(images.length > 0 ? answered.map((one) => ({ ...one, images })) : answered),
    results: outcomes.map((one) => one.result),
    pending: outcomes.flatMap((one) => one.pending),
  }
}

/** The images that the model sees. An image for which there is no room in memory is left out, so the model reads its sentence. */
async function shownImages(
  answered: readonly AnsweredCall[],
  rules: ImageRules | undefined,
  held: Holding,
  read: (artifact: string) => Promise<Uint8Array | undefined>,
): Promise<readonly AnsweredImage[]> {
  const images: AnsweredImage[] = []
  const wanted = imagesToShow(
    answered.map(({ result }) => result),
    rules,
  )
  for (const { artifact, mimeType, bytes } of wanted) {
    // In base64, 3 bytes are 4 characters.
    if (!held.hold(Math.ceil(bytes / 3) * 4)) continue
    const content = await read(artifact)
    if (content) images.push({ artifact, mimeType, data: Buffer.from(content).toString('base64') })
  }
  return images
}

/** The codes of pending calls. The service does not run these calls, but returns them to the caller. */
const PENDING = new Set<ErrorCode>(['RUNS_AT_CLIENT', 'APPROVAL_REQUIRED'])

function pendingCall(
  { index, id, name, item }: ToolCall,
  { call, result, approval }: Invocation,
): PendingCall {
  const workflowName = call.howRun?.by === 'client' ? call.howRun.workflowName : undefined
  return {
    index,
    id: id ?? null,
    name: result.meta.tool ?? name,
    layer: call.entry?.layer ?? 'user',
    ...kindOf(workflowName, approval),
    arguments: call.request?.arguments ?? {},
    call: item,
  }
}

function kindOf(workflowName: string | undefined, approval: Invocation['approval']) {
  if (approval) return { kind: 'approval', approval } as const
  return workflowName === undefined
    ? ({ kind: 'client' } as const)
    : ({ kind: 'workflow', workflowName } as const)
}

/** Runs a call. If there is no room in memory for its result, the call is not run, and the model reads a failure. */
async function invokeHeld(pipeline: Pipeline, asked: Asked, held: Holding) {
  try {
    return await held.run(() => pipeline.invoke(asked))
  } catch (error) {
    return pipeline.invoke({ ...asked, read: () => Promise.reject(error) })
  }
}

/**
 * The call with the result that the model gets. If JavaScript cannot represent the value exactly, or if the text was cut, the model
 * gets only the text.
 */
function forModel(answered: AnsweredCall<InvocationResult<ResultData>>): AnsweredCall {
  const { call, result } = answered
  if (result.resultType === 'failure' || result.data === undefined) return answered
  const isExact = !(result.data instanceof JsonText) || result.data.isExact()
  const isCut = result.meta.artifact !== undefined
  return isExact && !isCut ? answered : { call, result: { ...result, data: undefined } }
}

/**
 * Gives each call its own idempotency key: the request's key, a line feed, and the call's id, or its index if it has no id. No
 * header contains a line feed, so this key equals no key of a request.
 */
function headersOf({ id, index }: ToolCall, headers: CallHeaders): CallHeaders {
  const key = headers.idempotencyKey
  if (key === undefined) return headers
  return { ...headers, idempotencyKey: `${key}\n${id === undefined ? `index ${index}` : `id ${id}`}` }
}

/** The request of a model's call. Throws if the arguments of the call cannot be read. */
export function requestOf(
  { name, arguments: sent, nullMeansOmitted }: ToolCall,
  dialect?: string,
): CallRequest {
  const args = 'text' in sent ? argumentsIn(sent.text) : callArguments(sent.value)
  return { name, arguments: args, context: {}, expectedDigest: undefined, nullMeansOmitted, dialect }
}

/** Parses the text that a model wrote as arguments. It is not always JSON. An empty text means no arguments. */
function argumentsIn(text: string): JsonObject {
  if (text.trim() === '') return {}
  // Encoding would replace a lone surrogate by U+FFFD, and the tool would get another text.
  if (!text.isWellFormed()) throw new ToolrackError('ARGUMENTS_INVALID', LONE_SURROGATE)
  const bytes = Buffer.from(text)
  if (bytes.length > ARGUMENTS_BYTES_MAX)
    throw new ToolrackError(
      'BODY_TOO_LARGE',
      `The arguments have ${bytes.length} bytes; at most ${ARGUMENTS_BYTES_MAX} are allowed. Let the tool work on a part of the data at a time, or read it from a place that the arguments name.`,
    )
  const json = readJson(bytes, Infinity)
  if ('value' in json) return callArguments(json.value)
  const { pointer, message } = json.fault
  const fault = `The arguments are a JSON text that ${message}${pointer && ` (at ${pointer})`}`
  throw new ToolrackError('ARGUMENTS_INVALID', `${fault}; send it again as one whole JSON object.`)
}

const LONE_SURROGATE =
  'The arguments hold a lone surrogate, which is not valid text; send the whole character.'

/** Runs `act` for each call, at most AT_ONCE at a time. The results are in the order of the calls. */
async function eachInTurn<Result>(
  calls: readonly ToolCall[],
  act: (call: ToolCall) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const waiting = calls.entries()
  // Each call finds out itself whether its caller has left, because a call with an Idempotency-Key goes on.
  const turns = new Turns()
  async function work(): Promise<void> {
    for (const [index, call] of waiting) {
      // Other requests get a turn: reading large arguments takes time, and the first calls all begin in the same turn.
      if (turns.isDue) await turns.give()
      results[index] = await act(call)
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, calls.length) }, work))
  return results
}
