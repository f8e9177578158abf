import { isJsonObject, isToolResult, parsedJson } from '@toolrack/contract'
import type { JsonObject, JsonValue, ToolResult } from '@toolrack/contract'
import { ServiceError, timedOut } from './errors.ts'
import { orAborted } from './in-time.ts'
import { sendCalls } from './retry.ts'
import { failureOf, keyHeader, refuseInFlight } from './run-at-service.ts'
import type { DispatchOptions } from './run-at-service.ts'
import { accepted, retryAfter, withNetworkErrors, type Service } from './service.ts'

/** An event of a call. The last one is always the result. */
export type CallEvent =
  /** The tool has begun. The id is missing if the tool runs in this program. */
  | { readonly type: 'start'; readonly invocationId?: string }
  /** A text that the tool has printed: one line, several lines, or a part of a line. */
  | { readonly type: 'log'; readonly text: string }
  /** The progress of the tool. `fraction` is between 0 and 1. If the events are read slowly, some of these are left out. */
  | { readonly type: 'progress'; readonly fraction: number; readonly text: string }
  /** A value that the tool has yielded. The result at the end contains all of these values. */
  | { readonly type: 'value'; readonly value: JsonValue }
  | { readonly type: 'result'; readonly result: ToolResult }

export type CallOptions = DispatchOptions & {
  /** Any object. The handler of a Python tool gets it as `context["caller"]`. */
  readonly context?: JsonObject | undefined
  /** The digest of the definition that the caller has read. If the tool has another digest now, nothing is run. */
  readonly expectedDigest?: string | undefined
  /** The id of the approval for which the call has waited. If the approval was given, the call now runs. */
  readonly approval?: string | undefined
  /** If true, the tool never runs. The `data` of the result is a DryRun, which says what the service would do. */
  readonly dryRun?: boolean | undefined
}

export type CallBody = Omit<CallOptions, keyof DispatchOptions | 'dryRun'> & {
  readonly name: string
  readonly arguments: object
}

/**
 * Calls one tool at the service, and yields the events of the call. Without `hasEvents`, or if the service cannot stream, the
 * only event is the result. If the connection is lost, the result is a failure that says whether the tool may have run. If the
 * caller leaves the iterator, the request is aborted. Throws the same errors as `dispatch`.
 */
export async function* invokeAtService(
  service: Service,
  body: CallBody,
  deadlineMs: number,
  { signal: caller, idempotencyKey }: DispatchOptions,
  hasEvents: boolean,
): AsyncGenerator<CallEvent, void> {
  const init = (types: string) => ({
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', Accept: types, ...keyHeader(idempotencyKey) },
  })
  const ending = new AbortController()
  const { signal } = ending
  const leave = (): void => ending.abort(caller?.reason)
  const clock = setTimeout(() => ending.abort(timedOut(deadlineMs)), deadlineMs)
  caller?.addEventListener('abort', leave)
  if (caller?.aborted) leave()
  const endsMs = Date.now() + deadlineMs
  const ask = (types: string, lost?: ServiceError): Promise<Answer> => {
    const send = async (): Promise<Answer> => {
      const token = await service.token()
      const { response } = await service.ask(
        `invoke${service.callQuery}`,
        token,
        signal,
        () => init(types),
        resultOrError,
      )
      return isEvents(response) ? { events: response } : { result: await resultIn(response, signal) }
    }
    return orAborted(signal, sendCalls(endsMs, signal, idempotencyKey, send, lost))
  }
  try {
    let answer = await ask(hasEvents ? `${EVENTS}, ${JSON_ONLY}` : JSON_ONLY)
    if (answer.events) {
      const lost = yield* eventsIn(answer.events, signal)
      if (!lost) return
      if (idempotencyKey === undefined) throw lost
      answer = await ask(JSON_ONLY, lost)
    }
    if (answer.result) yield { type: 'result', result: answer.result }
  } catch (error) {
    caller?.throwIfAborted()
    yield { type: 'result', result: failureOf(error) }
  } finally {
    clearTimeout(clock)
    caller?.removeEventListener('abort', leave)
    ending.abort()
  }
}

/** What the service has answered: a stream of events, or only the result. */
type Answer =
  | { readonly events: Response; readonly result?: undefined }
  | { readonly result: ToolResult; readonly events?: undefined }

const EVENTS = 'text/event-stream'
const JSON_ONLY = 'application/json;q=0.9'

function isEvents(response: Response): boolean {
  return response.headers.get('Content-Type')?.startsWith(EVENTS) === true
}

/**
 * Returns the answer of the service if its body is a ToolResult. A refused call is a ToolResult too, whatever the HTTP status is.
 * Throws for any other answer with an error.
 */
export async function resultOrError(response: Response): Promise<Response> {
  if (response.ok) return response
  const text = await response
    .clone()
    .text()
    .catch(() => '')
  return isToolResult(parsedJson(text)) ? response : accepted(response)
}

async function resultIn(response: Response, signal: AbortSignal): Promise<ToolResult> {
  const result = parsedJson(
    await orAborted(
      signal,
      withNetworkErrors(signal, () => response.text()),
    ),
  )
  if (!isToolResult(result))
    throw new ServiceError('UNREADABLE', 'The answer to the call did not come from the service.')
  refuseInFlight(result)
  // A limit has refused the call, and the service says when it may be made.
  if (result.resultType === 'failure' && result.code === 'LIMIT_EXCEEDED')
    throw new ServiceError('BUSY', result.error, { retryAfterMs: retryAfter(response), refusal: result })
  return result
}

/** Yields the events of an answer until its result. If the connection breaks before the result, returns the error. */
async function* eventsIn(
  { body }: Response,
  signal: AbortSignal,
): AsyncGenerator<CallEvent, ServiceError | undefined> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const read = await orAborted(
      signal,
      withNetworkErrors(signal, async () => reader?.read()),
    ).catch(lostIn)
    if (read instanceof ServiceError) return read
    if (!read?.value) return new ServiceError('NETWORK', 'The answer of the service broke off.')
    text += decoder.decode(read.value, { stream: true })
    const blocks = text.split(/\r?\n\r?\n/)
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = eventIn(block)
      if (event) yield event
      if (event?.type === 'result') return undefined
    }
  }
}

/** Returns the error if it means that the connection was lost. Throws every other error, such as the reason of the signal. */
function lostIn(error: unknown): ServiceError {
  if (error instanceof ServiceError && error.code !== 'TIMEOUT') return error
  throw error
}

/** Reads the event in a block of the stream. Undefined for a comment, and for an event that only a later version knows. */
function eventIn(block: string): CallEvent | undefined {
  const [, type = ''] = /^event: ?(.*)$/m.exec(block) ?? []
  const [, data = ''] = /^data: ?(.*)$/m.exec(block) ?? []
  const value = parsedJson(data)
  if (type === 'result') return isToolResult(value) ? { type, result: value } : undefined
  const isKnown = /^(?:start|log|progress|value)$/.test(type) && isJsonObject(value)
  return isKnown ? ({ ...value, type } as CallEvent) : undefined
}
