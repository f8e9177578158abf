import { ERROR_CODES, isToolrackError, ToolrackError } from '@toolrack/contract'
import { CALL } from '../../access/action.ts'
import type { JsonObject, ToolCall } from '@toolrack/contract'
import type { IncomingMessage } from 'node:http'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { auditReported, refusedReport } from '../audit/audit-reported.ts'
import { validTraceparent } from '../audit/traceparent.ts'
import { completeCalls } from './complete-calls.ts'
import { dispatch, parseCalls, requestOf, type ReadImage } from './dispatcher.ts'
import { HeldResults } from './held-results.ts'
import type { CallEvent, CallHeaders, Pipeline } from '../../calls/call.ts'
import { parseCallRequest } from '../../calls/pipeline/parse-call-request.ts'
import { callAnswer } from '../../http/accept.ts'
import { callerGone, eventOrEnd } from '../../http/caller.ts'
import { EventStream } from '../../http/event-stream.ts'
import { Query, refuseParameters } from '../../http/query.ts'
import { readBody } from '../../http/read-body.ts'
import { route, type KnownRequest, type Route } from '../../http/route.ts'
import { isBodyRefused, requestError } from '../../http/send-error.ts'
import { sendInTurns, sendJson } from '../../http/send-json.ts'
import { limitsIn } from '../limits/limit-headers.ts'
import { sessionIn } from '../sessions/asked-session.ts'
import type { Invoker } from '../../calls/pipeline/invoker.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'

type Parts = {
  readonly invoker: Invoker
  readonly heldResults?: HeldResults | undefined
  /** True for a request that came through a proxy that passes on an answer only when it is whole. */
  readonly isBehindBuffer?: ((request: IncomingMessage) => boolean) | undefined
  /** The catalog without the tools that rules hide. */
  readonly listed: ListedCatalog
  readonly audit?: AuditTrail | undefined
  /** Has the images of results. Undefined on a service that keeps none. */
  readonly artifacts?: ArtifactStore | undefined
}

const NOT_STORED = { 'Cache-Control': 'private, no-store' }

export function callRoutes({
  invoker,
  heldResults = new HeldResults(),
  isBehindBuffer = () => false,
  listed,
  audit,
  artifacts,
}: Parts): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/tools/invoke',
      schemas: async () => (await import('./call-schemas.ts')).INVOKE,
      takesBody: true,
      action: CALL,
      audit: 'none',
      handle: (request) => invokeTool(invoker, request, isBehindBuffer(request.req)),
    }),
    route({
      method: 'POST',
      path: '/tools/dispatch',
      schemas: async () => (await import('./call-schemas.ts')).DISPATCH,
      takesBody: true,
      action: CALL,
      audit: 'none',
      handle: (request) => dispatchCalls(invoker, heldResults, request, artifacts),
    }),
    route({
      method: 'POST',
      path: '/tools/dispatch/complete',
      schemas: async () => (await import('./call-schemas.ts')).COMPLETE,
      ask: refuseParameters,
      takesBody: true,
      action: CALL,
      audit: 'none',
      async handle(request) {
        const { principal, req, res } = request
        const { traceparent } = callHeaders(req)
        const { answer, reported } = await readBody(request, 'results', CALL_DEPTH_MAX)
          .then(completeCalls)
          .catch(async (error: unknown) => {
            const refused = requestError(error) ?? error
            const code = isToolrackError(refused) ? refused.code : 'INTERNAL'
            await audit?.record(() => refusedReport(principal, traceparent, code))
            throw error
          })
        if (audit) {
          const reporter = { principal, traceparent, view: await listed.view(principal) }
          const calls = reported.map(({ call, result }) => ({ call, result, arguments: readArguments(call) }))
          await auditReported(audit, reporter, calls)
        }
        await sendInTurns(res, answer, NOT_STORED)
      },
    }),
  ]
}

/**
 * Runs one call. Its result is a ToolResult that a model can read. The result is sent as JSON, or as the last event of a stream.
 * A call that is refused before it starts is always answered with JSON.
 */
async function invokeTool(pipeline: Pipeline, request: KnownRequest, isBuffered: boolean): Promise<void> {
  const { principal, req, res } = request
  const { wants, takesJson } = callAnswer(req.headers.accept)
  const stream = wants === 'events' && !isBuffered ? new EventStream(res) : undefined
  const asked = askedOptions(request)
  const dryRun = !isToolrackError(asked) && asked.dryRun
  const { result, retryAfterSeconds } = await pipeline.invoke({
    principal,
    isDryRun: dryRun,
    sessionId: isToolrackError(asked) ? undefined : asked.sessionId,
    cutsText: !isToolrackError(asked) && asked.cut,
    headers: callHeaders(req),
    signal: callerGone(res),
    listen: stream && ((event) => sendEvent(stream, event)),
    tellLimits: limitsIn(res),
    async read() {
      try {
        if (wants === 'events' && isBuffered && !takesJson)
          throw new ToolrackError('NOT_ACCEPTABLE', NO_STREAM)
        if (isToolrackError(asked)) throw asked
        checkIdempotencyKey(req)
        return parseCallRequest(await readBody(request, 'call', CALL_DEPTH_MAX))
      } catch (error) {
        throw requestError(error) ?? error
      }
    },
  })
  const replayed = result.meta.replayed ? { 'Idempotent-Replay': 'true' } : {}
  if (stream && (stream.isOpen || result.meta.replayed)) return stream.end('result', result, replayed)
  if (result.resultType === 'success')
    return sendJson(res, 200, dryRun ? result.data : result, { ...NOT_STORED, ...replayed })
  const { httpStatus, retry } = ERROR_CODES[result.code]
  const again = retryAfterSeconds ?? (retry ? 1 : undefined)
  sendJson(res, httpStatus, result, {
    ...NOT_STORED,
    ...replayed,
    ...(isBodyRefused(result.code, res.req) && { Connection: 'close' }),
    ...(again !== undefined && { 'Retry-After': String(again) }),
  })
}

type CallOptions = {
  readonly dryRun: boolean
  readonly cut: boolean
  readonly sessionId: string | undefined
}

/** The options in the query, or the error of a query that is not valid. With an error, the call itself is refused. */
function askedOptions({ search }: KnownRequest): CallOptions | ToolrackError {
  if (search === '') return NO_OPTIONS
  try {
    const query = new Query(search, ['dryRun', 'session', 'cut'])
    return { dryRun: query.flag('dryRun'), cut: query.flag('cut'), sessionId: sessionIn(query) }
  } catch (error) {
    if (isToolrackError(error)) return error
    throw error
  }
}

const NO_OPTIONS: CallOptions = { dryRun: false, cut: false, sessionId: undefined }

const NO_STREAM =
  "Hosting passes on an answer only when it is whole, so it can stream no events; nothing was run. Call the function's own URL, or accept application/json."

/** Progress is left out if the reader is too slow. Printed lines and values are never left out: the tool waits for the reader. */
function sendEvent(stream: EventStream, { type, ...data }: CallEvent): Promise<void> | undefined {
  return type === 'progress' && stream.isBehind ? undefined : stream.send(type, data)
}

/** Runs a model's raw tool calls. The answer has the messages to append to the model's conversation. */
async function dispatchCalls(
  pipeline: Pipeline,
  results: HeldResults,
  request: KnownRequest,
  artifacts?: ArtifactStore,
): Promise<void> {
  const { principal, req, res } = request
  const tellLimits = limitsIn(res)
  const caller = { principal, headers: callHeaders(req), signal: callerGone(res), tellLimits }
  const { sessionId, showsImages, calls, held } = await readDispatch(request, results).catch(
    async (error: unknown) => {
      // The request counts as one call without a tool. So the refusal is recorded, kept and shown like that of a single call.
      await pipeline.invoke({ ...caller, read: () => Promise.reject(requestError(error) ?? error) })
      throw error
    },
  )
  try {
    const readImage = showsImages ? imageReader(artifacts) : undefined
    const answer = await dispatch(pipeline, { ...caller, sessionId }, calls, held, readImage)
    const over = eventOrEnd(res, 'finish')
    await sendInTurns(res, answer, NOT_STORED)
    // Waits until the client has read the answer, because the answer is in memory until then.
    await over
  } finally {
    held.giveBack()
  }
}

/** Reads images as the caller may read them. One that cannot be read is only missing in the answer, because its call has run. */
function imageReader(artifacts: ArtifactStore | undefined): ReadImage | undefined {
  if (!artifacts) return undefined
  return async (principal, id) => {
    try {
      return await artifacts.bytesOf(await artifacts.find(principal, id))
    } catch (error) {
      if (isToolrackError(error)) return undefined
      throw error
    }
  }
}

async function readDispatch(request: KnownRequest, results: HeldResults) {
  const query = new Query(request.search, ['session', 'images'])
  const sessionId = sessionIn(query)
  const showsImages = query.choice('images', ['0', '1'], '1') === '1'
  checkIdempotencyKey(request.req)
  const calls = parseCalls(await readBody(request, 'calls', CALL_DEPTH_MAX))
  return { sessionId, showsImages, calls, held: results.begin(request.principal.uid) }
}

/**
 * The arguments of a call that the caller has run. Undefined if they cannot be read: the caller may have run the call
 * nevertheless.
 */
function readArguments(call: ToolCall): JsonObject | undefined {
  try {
    return requestOf(call).arguments
  } catch (error) {
    if (isToolrackError(error)) return undefined
    throw error
  }
}

/**
 * The most levels of a body with calls. The arguments have a lower limit, which is checked later, by a check that names the
 * argument that is too deep.
 */
const CALL_DEPTH_MAX = 64

/** The most characters of an `Idempotency-Key`. It must be printable ASCII. */
const KEY_LENGTH_MAX = 255
const KEY_CHARACTERS = /^[ -~]+$/

/** Throws HEADER_INVALID for a key that is not valid. The key is not ignored, because its caller relies on it. */
function checkIdempotencyKey({ headers }: IncomingMessage): void {
  const key = headers['idempotency-key']?.toString()
  if (key === undefined || (key.length <= KEY_LENGTH_MAX && KEY_CHARACTERS.test(key))) return
  const rule = `must be 1 to ${KEY_LENGTH_MAX} printable ASCII characters`
  throw new ToolrackError('HEADER_INVALID', `The Idempotency-Key ${rule}; nothing was run.`)
}

function callHeaders({ headers }: IncomingMessage): CallHeaders {
  return {
    idempotencyKey: headers['idempotency-key']?.toString(),
    traceparent: validTraceparent(headers.traceparent?.toString()),
  }
}
