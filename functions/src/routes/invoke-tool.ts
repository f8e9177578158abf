import { ERROR_CODES } from '@toolrack/contract'
import type { JsonValue, ToolResult } from '@toolrack/contract'
import { callerGone } from '../http/caller-gone.ts'
import { refuseParameters } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { KnownRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { requestError } from '../http/send-error.ts'
import type { Invoker } from '../invoke/invoker.ts'
import { parseCallRequest } from '../invoke/parse-call-request.ts'

/** Above what arguments may have: how deep they are is told by their own check, which names the argument. */
export const CALL_DEPTH_MAX = 64

/** `POST /tools/invoke`: one call. Whatever comes of it, the body is a ToolResult that a model can be handed. */
export async function invokeTool(
  invoker: Invoker,
  { principal, search, req, res }: KnownRequest,
): Promise<void> {
  const { result, retryAfterSeconds } = await invoker.invoke(
    principal,
    await askedBy(async () => {
      refuseParameters(search)
      return readBody(req, res, 'single', CALL_DEPTH_MAX)
    }),
    callerGone(res),
  )
  const { httpStatus, retry } = kindOf(result)
  const again = retryAfterSeconds ?? (retry ? 1 : undefined)
  sendJson(res, httpStatus, result, {
    'Cache-Control': 'private, no-store',
    ...(httpStatus === 413 && { Connection: 'close' }),
    ...(again !== undefined && { 'Retry-After': String(again) }),
  })
}

/** Reads now, and throws what was wrong with it where the call is made: there it becomes a ToolResult. */
async function askedBy(read: () => Promise<JsonValue>): Promise<() => ReturnType<typeof parseCallRequest>> {
  try {
    const body = await read()
    return () => parseCallRequest(body)
  } catch (error) {
    return () => {
      throw requestError(error) ?? error
    }
  }
}

function kindOf(result: ToolResult): { readonly httpStatus: number; readonly retry: boolean } {
  return result.resultType === 'success' ? { httpStatus: 200, retry: false } : ERROR_CODES[result.code]
}
