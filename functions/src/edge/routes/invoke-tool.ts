import { ERROR_CODES } from '@toolrack/contract'
import type { ToolResult } from '@toolrack/contract'
import type { IncomingMessage } from 'node:http'
import { callerGone } from '../http/caller.ts'
import { refuseParameters } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { KnownRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { isBodyRefused, requestError } from '../http/send-error.ts'
import type { CallHeaders, Pipeline } from '../../calls/pipeline/call.ts'
import { parseCallRequest } from '../../calls/pipeline/parse-call-request.ts'

/** Above what arguments may have: how deep they are is told by their own check, which names the argument. */
export const CALL_DEPTH_MAX = 64

/** `POST /tools/invoke`: one call. Whatever comes of it, the body is a ToolResult that a model can be handed. */
export async function invokeTool(
  pipeline: Pipeline,
  { principal, search, req, res, bodies }: KnownRequest,
): Promise<void> {
  const { result, retryAfterSeconds } = await pipeline.invoke({
    principal,
    headers: callHeaders(req),
    signal: callerGone(res),
    async read() {
      try {
        refuseParameters(search)
        return parseCallRequest(await readBody({ req, res, bodies, principal }, 'single', CALL_DEPTH_MAX))
      } catch (error) {
        throw requestError(error) ?? error
      }
    },
  })
  const { httpStatus, retry } = kindOf(result)
  const again = retryAfterSeconds ?? (retry ? 1 : undefined)
  sendJson(res, httpStatus, result, {
    'Cache-Control': 'private, no-store',
    ...(result.resultType === 'failure' && isBodyRefused(result.code) && { Connection: 'close' }),
    ...(again !== undefined && { 'Retry-After': String(again) }),
  })
}

/** The headers that a call carries on. */
export function callHeaders({ headers }: IncomingMessage): CallHeaders {
  return {
    idempotencyKey: headers['idempotency-key']?.toString(),
    traceparent: headers.traceparent?.toString(),
  }
}

function kindOf(result: ToolResult<unknown>): { readonly httpStatus: number; readonly retry: boolean } {
  return result.resultType === 'success' ? { httpStatus: 200, retry: false } : ERROR_CODES[result.code]
}
