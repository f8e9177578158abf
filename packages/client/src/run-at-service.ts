import { CALLS_MAX, isToolResult, toolFailure, writeCall } from '@toolrack/contract'
import type { JsonObject, Layer, ToolCall, ToolResult } from '@toolrack/contract'
import { optionInvalid, ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import type { AskedApproval } from './wait-for-approval.ts'
import { sendCalls } from './retry.ts'
import { withNetworkErrors, type Service } from './service.ts'

export type DispatchOptions = {
  readonly signal?: AbortSignal | undefined
  /**
   * A key of 1 to 255 printable ASCII characters. Calls with the same key and the same arguments run only once within 24 hours at
   * the service. So the client sends a call again if the connection was lost. A call that a Runner runs in this program runs each
   * time, even with a key.
   */
  readonly idempotencyKey?: string | undefined
}

/** Throws OPTION_INVALID for a key that is not allowed. */
export function checkKey(key: string | undefined): void {
  if (key !== undefined && !/^[ -~]{1,255}$/.test(key))
    throw optionInvalid('idempotencyKey must be 1 to 255 printable ASCII characters')
}

export function keyHeader(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { 'Idempotency-Key': key }
}

/** Throws if the result says that a call with this key is still running. */
export function refuseInFlight(result: ToolResult | undefined): void {
  if (result?.resultType === 'failure' && result.code === 'CALL_IN_FLIGHT')
    throw new ServiceError('BUSY', result.error, { retryAfterMs: IN_FLIGHT_MS, isInFlight: true })
}

/**
 * How many milliseconds the client waits before it asks again for a call that is still running. The service asks for the same
 * pause.
 */
const IN_FLIGHT_MS = 1_000

/** What the service has answered to one call: its result, or that the client has to run it or wait. */
type ServiceAnswer = { readonly result?: ToolResult; readonly left?: LeftCall }

/** A call that the service did not run. It runs at the client, or waits for an approval. */
export type LeftCall = {
  /** The canonical name of the tool. */
  readonly name: string
  readonly layer: Layer
  /** The workflow of the tool. Missing if the tool is not a workflow. */
  readonly workflowName?: string | undefined
  readonly approval?: AskedApproval | undefined
  readonly arguments: JsonObject
}

/** The most UTF-8 bytes of all calls in one request. The service accepts one megabyte. */
const BYTES_MAX = 900_000

/**
 * Runs calls at the service. A call is sent a second time only in three cases: after a 401, if the first request certainly never
 * reached the service, or with an idempotency key. If the service does not answer, the result of each call is a failure that says
 * whether the tool may have run. The promise of a call rejects with the reason of the caller's signal, with TOKEN_FAILED, or with
 * SERVICE_REFUSED if the model cannot correct the call.
 */
export function runAtService(
  service: Service,
  calls: readonly ToolCall[],
  deadlineMs: number,
  { signal: caller, idempotencyKey }: DispatchOptions,
): ReadonlyMap<ToolCall, Promise<ServiceAnswer>> {
  const answer = async (batch: readonly Sent[]): Promise<readonly ServiceAnswer[]> => {
    try {
      const endsMs = Date.now() + deadlineMs
      const send = (signal: AbortSignal): Promise<readonly ServiceAnswer[]> =>
        sendCalls(endsMs, signal, idempotencyKey, async () =>
          readAnswer(await sendBatch(service, batch, signal, idempotencyKey), batch),
        )
      return await inTime(deadlineMs, () => timedOut(deadlineMs), send, caller)
    } catch (error) {
      caller?.throwIfAborted()
      const result = failureOf(error)
      return batch.map(() => ({ result }))
    }
  }
  const answers = batches(calls).flatMap((batch) => {
    const answered = answer(batch)
    return batch.map(({ call }, at) => [call, answered.then((all) => all[at] ?? {})] as const)
  })
  return new Map(answers)
}

type Sent = { readonly call: ToolCall; readonly json: string }

/** Distributes the calls over several requests. Each call gets a new id, because the model's ids can be missing or used twice. */
function batches(calls: readonly ToolCall[]): readonly (readonly Sent[])[] {
  const all: Sent[][] = []
  let bytes = Infinity
  for (const call of calls) {
    const json = JSON.stringify(writeCall(call, `call_${call.index}`))
    const jsonBytes = new TextEncoder().encode(json).length
    if (bytes + jsonBytes > BYTES_MAX || all.at(-1)?.length === CALLS_MAX) {
      all.push([])
      bytes = 0
    }
    all.at(-1)?.push({ call, json })
    bytes += jsonBytes
  }
  return all
}

async function sendBatch(
  service: Service,
  batch: readonly Sent[],
  signal: AbortSignal,
  idempotencyKey: string | undefined,
): Promise<string> {
  const { response } = await service.ask(
    // The client writes the messages itself, so the answer needs no images.
    `dispatch?images=0${service.callQuery.replace('?', '&')}`,
    await service.token(),
    signal,
    () => ({
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...keyHeader(idempotencyKey) },
      body: `[${batch.map(({ json }) => json).join()}]`,
    }),
  )
  return withNetworkErrors(signal, () => response.text())
}

/** Reads the service's answer to a batch of calls. Throws ServiceError if the text is not an answer to these calls. */
function readAnswer(text: string, batch: readonly Sent[]): readonly ServiceAnswer[] {
  const answers = parseAnswer(text, batch)
  for (const { result } of answers) refuseInFlight(result)
  return answers
}

function parseAnswer(text: string, batch: readonly Sent[]): readonly ServiceAnswer[] {
  try {
    const { results, pending } = JSON.parse(text) as {
      results: { result: unknown }[]
      pending: (LeftCall & { index: number })[]
    }
    return batch.map((_, index) => {
      const result = results[index]?.result
      if (isToolResult(result)) return { result }
      const left = pending.find((call) => call.index === index) as LeftCall
      const { name, layer, workflowName, approval, arguments: args } = left
      return { left: { name, layer, workflowName, approval, arguments: args } }
    })
  } catch (cause) {
    throw new ServiceError('UNREADABLE', 'The answer to the calls did not come from the service.', { cause })
  }
}

/** The failure that the model gets. If the model cannot correct the error, for example a wrong token or address, throws it. */
export function failureOf(error: unknown): ToolResult {
  if (error instanceof ToolsError) {
    if (error.status === 413) return toolFailure('BODY_TOO_LARGE', error.message)
    if (error.reason === 'BODY_INVALID') return toolFailure('BODY_INVALID', error.message)
    throw error
  }
  const { code, message, wasSent, isInFlight, refusal } = error as ServiceError
  if (refusal) return refusal
  if (isInFlight) return toolFailure('CALL_IN_FLIGHT', message)
  if (code === 'BUSY') return toolFailure('RUNNER_BUSY', `${message} Nothing was run.`)
  if (!wasSent) return toolFailure('RUNNER_UNAVAILABLE', `${message} The tool has not run.`)
  const failure = code === 'TIMEOUT' ? 'DEADLINE_EXCEEDED' : 'WORKER_DIED'
  return toolFailure(failure, `${message} The tool may have run.`)
}
