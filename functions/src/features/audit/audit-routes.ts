import { ToolrackError } from '@toolrack/contract'
import { ERASE_AUDIT, readAudit, VERIFY_AUDIT } from './audit-actions.ts'
import { isUid, UID_RULE } from '../../access/principal.ts'
import { isPlace, type AuditQuery } from './audit-store.ts'
import type { AuditTrail } from './audit-trail.ts'
import { dayOf } from './manifest.ts'
import { Turns } from '../../loop-turn.ts'
import { JsonText } from '../../json/json-text.ts'
import { acceptsLines } from '../../http/accept.ts'
import { callerGone, eventOrEnd, isGone } from '../../http/caller.ts'
import { nextPage } from '../../http/next-page.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'

/** `audit` is undefined if the operator has switched the trail off. */
type Parts = { readonly audit?: AuditTrail | undefined }

const NOT_STORED = { 'Cache-Control': 'private, no-store' }
/** The most records of one page, so that an answer stays small. */
const PAGE_RECORDS_MAX = 1_000
const PAGE_RECORDS = 100
/** How many UTF-16 code units of an export are written to the response at once. */
const PIECE_LENGTH = 64 * 1024

const PARAMETERS = ['tool', 'outcome', 'uid', 'since', 'until', 'limit', 'cursor']
const FILTERS = ['tool', 'outcome', 'uid', 'limit', 'cursor'] as const

/**
 * The routes of the audit trail. A user reads their own records. An admin reads and verifies all records. With a token that may
 * approve, an admin can also erase records. Jobs have no access.
 */
export function auditRoutes({ audit }: Parts): readonly Route[] {
  return [
    // A page of records, the newest first. As JSON lines and without a filter, an admin gets whole days that can be verified.
    route({
      method: 'GET',
      path: '/audit',
      schemas: async () => (await import('./audit-schemas.ts')).READ_AUDIT,
      ask: askedRecords,
      action: ({ query: { uid } }) => readAudit(uid),
      handle: (request) => sendRecords(present(audit), request),
    }),
    route({
      method: 'GET',
      path: '/audit/verify',
      schemas: async () => (await import('./audit-schemas.ts')).VERIFY_AUDIT,
      ask: ({ search }) => askedDay(new Query(search, ['day'])),
      action: VERIFY_AUDIT,
      async handle({ asked: day, res }) {
        const report = await present(audit).verify(day, new Turns(callerGone(res)))
        sendJson(res, 200, { ok: report.fault === null, day: day ?? null, ...report }, NOT_STORED)
      },
    }),
    // Erases the content of a user's records. Their hashes stay, so the other records can still be verified.
    route({
      method: 'DELETE',
      path: '/audit',
      schemas: async () => (await import('./audit-schemas.ts')).ERASE_AUDIT,
      ask: ({ search }) => uidIn(new Query(search, ['uid']).required('uid')),
      action: ERASE_AUDIT,
      async handle({ principal, asked, res }) {
        sendJson(res, 200, await present(audit).erase(principal, asked), NOT_STORED)
      },
    }),
  ]
}

const OFF = 'This server keeps no audit trail, because TOOLRACK_AUDIT is off.'

function present(audit: AuditTrail | undefined): AuditTrail {
  if (!audit) throw new ToolrackError('AUDIT_UNAVAILABLE', OFF)
  return audit
}

function askedRecords({ search, req }: FoundRequest) {
  const query = new Query(search, PARAMETERS)
  const [uid, cursor] = [query.one('uid'), query.one('cursor')]
  const before = cursor === undefined ? undefined : Buffer.from(cursor, 'base64url').toString()
  if (before !== undefined && !isPlace(before))
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the answer before')
  return {
    takesLines: acceptsLines(req.headers.accept),
    isFiltered: FILTERS.some((name) => query.one(name) !== undefined),
    query: {
      uid: uid === undefined ? undefined : uidIn(uid),
      tool: query.one('tool'),
      outcome: query.one('outcome'),
      since: timeIn(query, 'since'),
      until: timeIn(query, 'until'),
      limit: query.integer('limit', 1, PAGE_RECORDS_MAX) ?? PAGE_RECORDS,
      before,
    } satisfies AuditQuery,
  }
}

function uidIn(uid: string): string {
  if (!isUid(uid)) throw invalidParameter('uid', `must be a user id: ${UID_RULE}`)
  return uid
}

const TIME = /^\d{4}-\d\d-\d\d(?:[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d))?$/

/** Reads a parameter that is a day or a time of RFC 3339. Returns it in UTC, with milliseconds. */
function timeIn(query: Query, name: string): string | undefined {
  const text = query.one(name)
  if (text === undefined) return undefined
  const ms = TIME.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms))
    throw invalidParameter(name, 'must be a time such as 2026-01-31T12:00:00Z, or a day, of the calendar')
  return new Date(ms).toISOString()
}

/** True for a day that the calendar has. JavaScript would read 2026-02-31, for example, as a day in March. */
function isDay(text: string): boolean {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(ms) && dayOf(ms) === text
}

function askedDay(query: Query): string | undefined {
  const day = query.one('day')
  if (day !== undefined && !isDay(day))
    throw invalidParameter('day', 'must be a day of the calendar (UTC) such as 2026-01-31')
  return day
}

type AskedRecords = KnownRequest<'/audit', ReturnType<typeof askedRecords>>

async function sendRecords(audit: AuditTrail, request: AskedRecords): Promise<void> {
  const { asked, principal, path, res } = request
  const { query, takesLines, isFiltered } = asked
  const { isAdmin, uid } = principal
  if (takesLines && isAdmin && !isFiltered) {
    // Only whole days are exported, because only whole chains can be verified.
    return sendLines(res, audit.lines(query.since?.slice(0, 10), query.until?.slice(0, 10)))
  }
  await audit.written()
  const { texts, before } = await audit.page({ ...query, uid: isAdmin ? query.uid : uid })
  const cursor = before === undefined ? undefined : Buffer.from(before).toString('base64url')
  const link = nextPage(path, request.search, cursor)
  if (takesLines) return sendLines(res, texts, link)
  const records = texts.map((text) => new JsonText(text))
  sendJson(res, 200, { records, cursor: cursor ?? null }, { ...NOT_STORED, ...link })
}

async function sendLines(
  res: AskedRecords['res'],
  texts: Iterable<string> | AsyncIterable<string>,
  headers: Record<string, string> = {},
): Promise<void> {
  const head = { 'Content-Type': 'application/x-ndjson; charset=utf-8', 'X-Content-Type-Options': 'nosniff' }
  res.writeHead(200, { ...head, ...NOT_STORED, ...headers })
  let piece = ''
  for await (const text of texts) {
    piece += `${text}\n`
    if (piece.length < PIECE_LENGTH) continue
    if (!res.write(piece)) await eventOrEnd(res, 'drain')
    if (isGone(res)) return
    piece = ''
  }
  res.end(piece)
}
