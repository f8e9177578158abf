import { CALLS_MAX, toolFailure } from '@toolrack/contract'
import type { ErrorCode, JsonObject, ToolCall, ToolResult } from '@toolrack/contract'
import { inTime } from './in-time.ts'
import { isToolResult } from './run-locally.ts'
import { lostOnFailure } from './service.ts'
import type { Service } from './service.ts'
import { ServiceLoss, timedOut } from './service-loss.ts'
import { ToolsError } from './tools-error.ts'

/** What came of a call at the service: a result, or the canonical name of a tool that runs here. */
export type AtService = {
  readonly call: ToolCall
  readonly result?: ToolResult
  readonly runsHere?: string
}

/** UTF-8 bytes of calls in one request, below the megabyte that the service takes. */
const BYTES_MAX = 900_000

/**
 * Has calls run by the service, each once: nothing is sent a second time but after a 401. In their order. Where the service is lost each
 * call is a failure that says whether it may have run; rejects only with the reason of the caller's signal.
 */
export async function runAtService(
  service: Service,
  calls: readonly ToolCall[],
  deadlineMs: number,
  caller: AbortSignal | undefined,
): Promise<readonly AtService[]> {
  const answers = batches(calls).map(async (batch) => {
    try {
      const send = (signal: AbortSignal): Promise<string> => sendBatch(service, batch, signal)
      return readAnswer(await inTime(deadlineMs, () => timedOut(deadlineMs), send, caller), batch)
    } catch (error) {
      caller?.throwIfAborted()
      return batch.map(({ call }) => ({ call, result: failureOf(error) }))
    }
  })
  return (await Promise.all(answers)).flat()
}

type Sent = { readonly call: ToolCall; readonly json: string }

/** Calls with ids of our own: those of a model may be missing, or there twice. */
function batches(calls: readonly ToolCall[]): readonly (readonly Sent[])[] {
  const all: Sent[][] = []
  let bytes = Infinity
  for (const call of calls) {
    const json = JSON.stringify(sentAs(call))
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

/** OpenAI's shape for arguments that are a text, Anthropic's for those that are an object: the service reads the two in their own ways. */
function sentAs({ index, name, arguments: sent }: ToolCall): JsonObject {
  const id = `call_${index}`
  if ('text' in sent) return { id, type: 'function', function: { name, arguments: sent.text } }
  return { id, type: 'tool_use', name, input: sent.value }
}

async function sendBatch(service: Service, batch: readonly Sent[], signal: AbortSignal): Promise<string> {
  const { response } = await service.ask('dispatch', await service.token(), signal, () => ({
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: `[${batch.map(({ json }) => json).join()}]`,
  }))
  return lostOnFailure(signal, () => response.text())
}

/** The one place where the service's answer becomes results. */
function readAnswer(text: string, batch: readonly Sent[]): readonly AtService[] {
  try {
    const { results, pending } = JSON.parse(text) as {
      results: { result: unknown }[]
      pending: { index: number; name: string }[]
    }
    return batch.map(({ call }, index) => {
      const result = results[index]?.result
      if (isToolResult(result)) return { call, result }
      const { name } = pending.find((left) => left.index === index) as { name: string }
      return { call, runsHere: name }
    })
  } catch (cause) {
    throw new ServiceLoss('UNREADABLE', 'What answered the calls is not the service.', { cause })
  }
}

function failureOf(error: unknown): ToolResult {
  if (error instanceof ToolsError)
    return toolFailure(REFUSALS[error.status ?? 401] ?? 'BODY_INVALID', error.message)
  const { code, message } = error as ServiceLoss
  if (code === 'BUSY') return toolFailure('RUNNER_BUSY', `${message} Nothing was run.`)
  return toolFailure(
    code === 'TIMEOUT' ? 'DEADLINE_EXCEEDED' : 'WORKER_DIED',
    `${message} The tool may have run.`,
  )
}

const REFUSALS: Readonly<Record<number, ErrorCode>> = {
  401: 'TOKEN_INVALID',
  403: 'PERMISSION_DENIED',
  413: 'BODY_TOO_LARGE',
}
