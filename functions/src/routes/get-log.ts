import { ToolrackError } from '@toolrack/contract'
import { refuseParameters } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'

const INVOCATION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** `GET /tools/invocations/{id}/log`: what a call of the caller's own has printed; to a job token one of a tool that it names. */
export async function getLog({ services, principal, search, name: id, res }: RouteRequest): Promise<void> {
  refuseParameters(search)
  const log = INVOCATION_ID.test(id) ? await services.logs.find(principal.uid, id) : undefined
  if (!log || principal.grant?.tools.has(log.tool) === false) throw new ToolrackError('INVOCATION_NOT_FOUND')
  sendJson(res, 200, log, { 'Cache-Control': 'private, no-store' })
}
