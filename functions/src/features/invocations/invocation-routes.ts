import { ERROR_CODES, isToolName, ToolrackError, type ErrorCode } from '@toolrack/contract'
import { READ } from '../../access/action.ts'
import type { Principal } from '../../access/principal.ts'
import { maySee } from '../../access/visible.ts'
import { foundCall } from '../../calls/invocation-logs.ts'
import type {
  CallFacts,
  CallPosition,
  CallsQuery,
  InvocationLog,
  InvocationLogs,
} from '../../calls/invocation-logs.ts'
import { PAGE_MAX } from '../../catalog/views/list-query.ts'
import { nextPage } from '../../http/next-page.ts'
import { invalidParameter, Query, refuseParameters } from '../../http/query.ts'
import { route, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'

type Parts = { readonly logs: InvocationLogs; readonly now: () => number }

const NOT_STORED = { 'Cache-Control': 'private, no-store' }

const INVOCATION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The number of calls in a page if the query has no `limit`. */
const CALLS_IN_PAGE = 100

/** The routes for the caller's calls of the last 24 hours, and for what these calls printed. */
export function invocationRoutes({ logs, now }: Parts): readonly Route[] {
  return [
    // One page of the caller's calls, newest first. With a job token, only calls of its workflow.
    route({
      method: 'GET',
      path: '/tools/invocations',
      schemas: async () => (await import('./invocation-schemas.ts')).LIST_CALLS,
      ask: ({ search }) => parseCallsQuery(search, now()),
      action: READ,
      async handle({ principal, asked, path, search, res }) {
        const workflow = principal.workflowId
        // One call more than the page is read. It shows whether there is another page.
        const found = await logs.page(principal.uid, { ...asked, workflow, limit: asked.limit + 1 })
        const page = found.slice(0, asked.limit)
        const last = found.length > asked.limit ? page.at(-1) : undefined
        const items = page.filter((call) => mayRead(principal, call))
        sendJson(res, 200, { items }, { ...NOT_STORED, ...nextPage(path, search, last && cursorOf(last)) })
      },
    }),
    route({
      method: 'GET',
      path: '/tools/invocations/:id',
      schemas: async () => (await import('./invocation-schemas.ts')).READ_CALL,
      ask: refuseParameters,
      action: READ,
      async handle({ principal, params: { id }, res }) {
        sendJson(res, 200, foundCall(await findCall(logs, principal, id)), NOT_STORED)
      },
    }),
    route({
      method: 'GET',
      path: '/tools/invocations/:id/log',
      schemas: async () => (await import('./invocation-schemas.ts')).READ_LOG,
      ask: refuseParameters,
      action: READ,
      async handle({ principal, params: { id }, res }) {
        const { invocationId, tool, at, log } = await findCall(logs, principal, id)
        if (!log) throw new ToolrackError('INVOCATION_NOT_FOUND')
        sendJson(res, 200, { invocationId, tool, at, ...log }, NOT_STORED)
      },
    }),
  ]
}

/** The call with this id. If the principal may not read it, the error is the same as for a call that never existed. */
async function findCall(
  logs: Pick<InvocationLogs, 'find'>,
  principal: Principal,
  id: string,
): Promise<InvocationLog> {
  const call = INVOCATION_ID.test(id) ? await logs.find(principal.uid, id) : undefined
  if (!call || !mayRead(principal, call)) throw new ToolrackError('INVOCATION_NOT_FOUND')
  return call
}

/**
 * True if the principal may read the call. The holder of a job token may read a call of the token's workflow, if the token names
 * the tool of the call or if the call has found no tool.
 */
function mayRead(principal: Principal, { tool, digest, workflow }: CallFacts): boolean {
  if (!principal.grant) return true
  if (workflow !== principal.workflowId) return false
  return tool === null || digest === null || maySee(principal, { name: tool }).allowed
}

function parseCallsQuery(search: string, nowMs: number): CallsQuery {
  const query = new Query(search, ['tool', 'outcome', 'since', 'limit', 'cursor'])
  const tool = query.one('tool')
  if (tool !== undefined && !isToolName(tool)) throw invalidParameter('tool', 'must be the name of a tool')
  return {
    tool,
    outcome: outcomeIn(query),
    since: sinceIn(query, nowMs),
    before: cursorIn(query),
    limit: query.integer('limit', 1, PAGE_MAX) ?? CALLS_IN_PAGE,
  }
}

function outcomeIn(query: Query): CallsQuery['outcome'] {
  const outcome = query.one('outcome')
  if (outcome === undefined || outcome === 'success' || outcome === 'failure') return outcome
  if (isErrorCode(outcome)) return outcome
  throw invalidParameter('outcome', 'must be success, failure or the code of an error, such as TOOL_RAISED')
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERROR_CODES, text)
}

/** A time of RFC 3339. */
const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** The parameter `since`, written like the time of a kept call: UTC with milliseconds. */
function sinceIn(query: Query, nowMs: number): string | undefined {
  const since = query.one('since')
  if (since === undefined) return undefined
  const ms = TIME.test(since) ? Date.parse(since.toUpperCase()) : Number.NaN
  if (Number.isNaN(ms)) throw invalidParameter('since', 'must be a time such as 2026-01-31T12:00:00Z')
  if (ms > nowMs) throw invalidParameter('since', 'is in the future')
  return new Date(ms).toISOString()
}

function cursorIn(query: Query): CallPosition | undefined {
  const cursor = query.one('cursor')
  if (cursor === undefined) return undefined
  const [at = '', invocationId = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split('/')
  const position = { at, invocationId }
  if (TIME.test(at) && INVOCATION_ID.test(invocationId) && cursorOf(position) === cursor) return position
  throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
}

function cursorOf({ at, invocationId }: CallPosition): string {
  return Buffer.from(`${at}/${invocationId}`).toString('base64url')
}
