import { dispatch } from '../dispatch/dispatcher.ts'
import { parseCalls } from '../dispatch/parse-calls.ts'
import { callerGone } from '../http/caller-gone.ts'
import { refuseParameters } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { KnownRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { Invoker } from '../invoke/invoker.ts'
import { CALL_DEPTH_MAX } from './invoke-tool.ts'

/** `POST /tools/dispatch`: a model's raw tool calls, answered by the messages to append to its conversation. */
export async function dispatchCalls(
  invoker: Invoker,
  { principal, search, req, res }: KnownRequest,
): Promise<void> {
  refuseParameters(search)
  const calls = parseCalls(await readBody(req, res, 'bulk', CALL_DEPTH_MAX))
  const answer = await dispatch(invoker, principal, calls, callerGone(res))
  sendJson(res, 200, answer, { 'Cache-Control': 'private, no-store' })
}
