import { CALLS_MAX, toolFailure } from '@toolrack/contract'
import type { ErrorCode, ToolCall, ToolResult } from '@toolrack/contract'
import { inTime } from './in-time.ts'
import { isToolResult } from './run-locally.ts'
import { lostOnFailure } from './service.ts'
import type { Service } from './service.ts'
import { ServiceLoss } from './service-loss.ts'
import { ToolsError } from './tools-error.ts'

/** What came of a call at the service: a result, or the canonical name of a tool that runs here. */
export type AtService = { readonly result?: ToolResult; readonly runsHere?: string }

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
  const answers = batches(calls).map(async (items) => {
    try {
      return await sendBatch(service, items, deadlineMs, caller)
    } catch (error) {
      caller?.throwIfAborted()
      return items.map(() => ({ result: failureOf(error) }))
    }
  })
  return (await Promise.all(answers)).flat()
}

/** One shape for every vendor's calls, and ids of our own: those of a model may be missing, or there twice. */
function batches(calls: readonly ToolCall[]): readonly (readonly string[])[] {
  const all: string[][] = []
  let bytes = Infinity
  for (const [index, { name, arguments: sent }] of calls.entries()) {
    const text = 'text' in sent ? sent.text : JSON.stringify(sent.value)
    const item = JSON.stringify({
      id: `call_${index}`,
      type: 'function',
      function: { name, arguments: text },
    })
    const itemBytes = new TextEncoder().encode(item).length
    if (bytes + itemBytes > BYTES_MAX || all.at(-1)?.length === CALLS_MAX) {
      all.push([])
      bytes = 0
    }
    all.at(-1)?.push(item)
    bytes += itemBytes
  }
  return all
}

async function sendBatch(
  service: Service,
  items: readonly string[],
  deadlineMs: number,
  caller: AbortSignal | undefined,
): Promise<readonly AtService[]> {
  const late = (): ServiceLoss =>
    new ServiceLoss('TIMEOUT', `The service did not answer within ${deadlineMs} ms.`)
  const body = `[${items.join()}]`
  const send = async (signal: AbortSignal): Promise<string> => {
    const headers = { 'Content-Type': 'application/json' }
    const { response } = await service.ask('dispatch', await service.token(), signal, () => ({
      headers,
      body,
    }))
    return lostOnFailure(signal, () => response.text())
  }
  return readAnswer(await inTime(deadlineMs, late, send, caller), items.length)
}

/** The one place where the service's answer becomes results. */
function readAnswer(text: string, count: number): readonly AtService[] {
  try {
    const { results, pending } = JSON.parse(text) as {
      results: { result: unknown }[]
      pending: { index: number; name: string }[]
    }
    const here = new Map(pending.map(({ index, name }) => [index, name]))
    const read = results.map(({ result }, index): AtService | undefined => {
      const runsHere = here.get(index)
      if (runsHere !== undefined) return { runsHere }
      return isToolResult(result) ? { result } : undefined
    })
    if (read.length === count && read.every((one) => one !== undefined)) return read
  } catch {
    // Told below: something else than the service has answered.
  }
  throw new ServiceLoss('UNREADABLE', 'What answered the calls is not the service.')
}

function failureOf(error: unknown): ToolResult {
  if (error instanceof ToolsError)
    return toolFailure(REFUSALS[error.status ?? 401] ?? 'BODY_INVALID', error.message)
  if (!(error instanceof ServiceLoss)) return toolFailure('INTERNAL', String(error))
  if (error.code === 'TIMEOUT')
    return toolFailure('DEADLINE_EXCEEDED', `${error.message} The tool may have run.`)
  if (error.code === 'BUSY') return toolFailure('RUNNER_BUSY', `${error.message} Nothing was run.`)
  return toolFailure('WORKER_DIED', `${error.message} The tool may have run.`)
}

const REFUSALS: Readonly<Record<number, ErrorCode>> = {
  401: 'TOKEN_INVALID',
  403: 'PERMISSION_DENIED',
  413: 'BODY_TOO_LARGE',
}
