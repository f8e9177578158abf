import { dispatch, parseCalls } from '../../calls/dispatch/dispatcher.ts'
import type { HeldResults } from '../../calls/dispatch/held-results.ts'
import { callerGone, whenOver } from '../http/caller.ts'
import { refuseParameters } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { KnownRequest } from '../http/route.ts'
import { sendInTurns } from '../http/send-json.ts'
import type { Pipeline } from '../../calls/pipeline/call.ts'
import { CALL_DEPTH_MAX, callHeaders } from './invoke-tool.ts'

/** `POST /tools/dispatch`: a model's raw tool calls, answered by the messages to append to its conversation. */
export async function dispatchCalls(
  pipeline: Pipeline,
  results: HeldResults,
  { principal, search, req, res, bodies }: KnownRequest,
): Promise<void> {
  refuseParameters(search)
  const calls = parseCalls(await readBody({ req, res, bodies, principal }, 'bulk', CALL_DEPTH_MAX))
  const held = results.begin(principal.uid)
  try {
    const sender = { principal, headers: callHeaders(req), signal: callerGone(res) }
    const answer = await dispatch(pipeline, sender, calls, held)
    const over = whenOver(res)
    await sendInTurns(res, answer, { 'Cache-Control': 'private, no-store' })
    // What is handed on is held by the connection until its reader has taken it.
    await over
  } finally {
    held.giveBack()
  }
}
