import { ToolrackError } from '@toolrack/contract'
import { maySee } from '../../access/visible.ts'
import { refuseParameters } from '../http/query.ts'
import { route } from '../http/route.ts'
import type { Route } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { InvocationLogs } from '../../calls/pipeline/invocation-logs.ts'
import type { Invoker } from '../../calls/pipeline/invoker.ts'
import { HeldResults } from '../../calls/dispatch/held-results.ts'
import { dispatchCalls } from './dispatch-calls.ts'
import { invokeTool } from './invoke-tool.ts'

export type CallParts = {
  readonly invoker: Invoker
  readonly logs: InvocationLogs
  /** The results of all dispatches; those of new routes when it is left out. */
  readonly heldResults?: HeldResults
}

const INVOCATION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Calls of tools, and what they have printed. */
export function callRoutes({ invoker, logs, heldResults = new HeldResults() }: CallParts): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/tools/invoke',
      takesBody: true,
      action: { verb: 'call' },
      handle: (request) => invokeTool(invoker, request),
    }),
    route({
      method: 'POST',
      path: '/tools/dispatch',
      takesBody: true,
      action: { verb: 'call' },
      handle: (request) => dispatchCalls(invoker, heldResults, request),
    }),
    // What a call of the caller's own has printed; to a job token one of a tool that it names.
    route({
      method: 'GET',
      path: '/tools/invocations/:id/log',
      ask: ({ search }) => refuseParameters(search),
      action: { verb: 'read' },
      async handle({ principal, params: { id }, res }) {
        const log = INVOCATION_ID.test(id) ? await logs.find(principal.uid, id) : undefined
        if (!log || !maySee(principal, { name: log.tool }).allowed)
          throw new ToolrackError('INVOCATION_NOT_FOUND')
        sendJson(res, 200, log, { 'Cache-Control': 'private, no-store' })
      },
    }),
  ]
}
