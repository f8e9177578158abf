import { isJsonArray, type JsonObject, type JsonValue } from '@toolrack/contract'
import type { Hook } from '../../signal.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import type { Sessions } from './sessions.ts'
import type { DeletedSession } from './session.ts'
import type { SessionStore } from './session-store.ts'
import type { SessionWriter } from './session-writer.ts'
import { READ_SESSIONS, WRITE_SESSIONS } from './session-actions.ts'
import { isWorkflowId, WORKFLOW_ID_RULE } from '../../access/job-token.ts'
import type { Principal } from '../../access/principal.ts'
import { endOf, isOver, isSessionId, namesOf, SESSION_ID_RULE, SESSION_TOOLS_MAX } from './session.ts'
import type { AskedSelection, Session, SessionHead } from './session.ts'
import type { AskedSession, SessionTarget, WrittenSession } from './session-writer.ts'
import { preconditionOf } from '../../http/entity-tag.ts'
import { invalidParameter, Query, refuseParameters } from '../../http/query.ts'
import { bodyInvalid, readObject } from '../../http/read-body.ts'
import { route, type FoundRequest, type Route } from '../../http/route.ts'
import { sendJson, sendTagged } from '../../http/send-json.ts'
import { checkedSession } from './asked-session.ts'

const PATH = '/sessions/:id'
const NOT_STORED = { 'Cache-Control': 'private, no-store' }

/** The most sessions of one page, so that an answer stays small. */
const SESSIONS_PAGE_MAX = 200

/** What the routes of sessions use. The route `GET /sessions/{id}/tools` is in `features/list/`, because its answer is a list. */
type Parts = {
  readonly sessions: Sessions
  readonly sessionStore: SessionStore
  readonly sessionWriter: SessionWriter
  readonly sessionDeleted: Hook<DeletedSession>
  /** The catalog without the tools that rules hide. */
  readonly listed: ListedCatalog
  readonly now: () => number
}

export function sessionRoutes(parts: Parts): readonly Route[] {
  const { sessions, sessionStore, sessionWriter, sessionDeleted, listed, now } = parts
  const targetOf = (principal: Principal, id: string): SessionTarget => ({
    uid: principal.uid,
    id,
    viewOf: (session) => listed.view(principal, session),
  })
  return [
    // One page of the user's sessions, by id, without their tools.
    route({
      method: 'GET',
      path: '/sessions',
      schemas: async () => (await import('./session-schemas.ts')).LIST_SESSIONS,
      ask: askedPage,
      action: READ_SESSIONS,
      async handle({ principal, asked: { limit, after }, res }) {
        const found = await sessionStore.page(principal.uid, after, limit + 1)
        const page = found.slice(0, limit)
        const last = found.length > limit ? page.at(-1) : undefined
        const link = last && { Link: `<?limit=${limit}&cursor=${encodeURIComponent(last.id)}>; rel="next"` }
        const items = page.filter((one) => !isOver(one, now())).map(shownHead)
        sendJson(res, 200, { items }, { ...NOT_STORED, ...link })
      },
    }),
    route({
      method: 'GET',
      path: PATH,
      schemas: async () => (await import('./session-schemas.ts')).READ_SESSION,
      ask: askedId,
      action: READ_SESSIONS,
      async handle({ principal, asked: { id }, res }) {
        const session = await sessions.find(principal.uid, id)
        sendTagged(res, session.digest, () => shown(session))
      },
    }),
    route({
      method: 'PUT',
      path: PATH,
      schemas: async () => (await import('./session-schemas.ts')).WRITE_SESSION,
      takesBody: true,
      ask: askedWrite,
      action: WRITE_SESSIONS,
      async handle(request) {
        const { principal, asked } = request
        const body = sessionInBody(await readObject(request, 'session'))
        const target = targetOf(principal, asked.id)
        sendWritten(request, await sessionWriter.put(target, { ...DEFAULTS, ...body }, asked.precondition))
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      schemas: async () => (await import('./session-schemas.ts')).DELETE_SESSION,
      ask: askedWrite,
      action: WRITE_SESSIONS,
      async handle({ principal, asked: { id, precondition }, res, note }) {
        const { key, digest } = await sessionWriter.delete(principal.uid, id, precondition)
        note?.({ digest, subject: { outcome: 'deleted' } })
        await sessionDeleted.run({ uid: principal.uid, key })
        res.writeHead(204, NOT_STORED).end()
      },
    }),
    // Makes an unlocked session from another session, which may be locked.
    route({
      method: 'POST',
      path: '/sessions/:id/fork',
      schemas: async () => (await import('./session-schemas.ts')).FORK_SESSION,
      takesBody: true,
      ask: askedId,
      action: WRITE_SESSIONS,
      async handle(request) {
        const { principal, asked } = request
        const { id, ...body } = await readObject(request, 'session')
        if (!isSessionId(id)) throw bodyInvalid(`The body at /id: ${SESSION_ID_RULE}.`)
        const forked = await sessionWriter.fork(targetOf(principal, id), asked.id, sessionInBody(body))
        request.note?.({ subject: { session: id, ...notedSelection(forked.session) } })
        sendWritten(request, forked)
      },
    }),
    // The first message of a session. It locks the selection. No text is stored.
    route({
      method: 'POST',
      path: '/sessions/:id/messages',
      schemas: async () => (await import('./session-schemas.ts')).LOCK_SESSION,
      takesBody: true,
      ask: askedId,
      action: WRITE_SESSIONS,
      async handle(request) {
        const { principal, asked, res } = request
        const { selection, ...rest } = await readObject(request, 'session')
        if (Object.keys(rest).length > 0)
          throw bodyInvalid(
            'The body takes selection, and nothing else: the text of a message is not stored.',
          )
        const wanted = selection === undefined ? undefined : selectionIn(selection)
        const locked = await sessionWriter.lock(targetOf(principal, asked.id), wanted)
        const { lockedAt, tools, digest } = locked
        request.note?.({
          digest,
          subject: { lockedAt, ...notedSelection(locked), tools: tools.length },
        })
        sendJson(res, 200, { lockedAt, tools }, NOT_STORED)
      },
    }),
  ]
}

const DEFAULTS: AskedSession = {
  model: null,
  agent: null,
  workflow: null,
  room: null,
  parent: null,
  lockDigests: false,
  selection: 'all',
}

/** The most names of tools in an audit record. If a selection has more, the record also has the number of its tools. */
const NAMES_NOTED_MAX = 100

/** The selection of a session, as an audit record has it. */
function notedSelection(session: Session): JsonObject {
  const selection = namesOf(session)
  if (typeof selection === 'string') return { selection }
  return { selection: selection.slice(0, NAMES_NOTED_MAX), tools: selection.length }
}

function sendWritten({ res, note }: Pick<FoundRequest, 'res' | 'note'>, written: WrittenSession): void {
  const { outcome, session, before = null } = written
  note?.({ digest: session.digest, subject: { outcome, before } })
  const headers = { ETag: `"${session.digest}"` }
  sendJson(res, outcome === 'created' ? 201 : 200, { outcome, ...shown(session) }, headers)
}

/** A session, as it is answered. Fields that change with each use are left out, so that equal answers have equal entity tags. */
function shown(session: Session) {
  const { id, model, agent, workflow, room, parent, lockDigests, createdAt, lockedAt, digest } = session
  const selection = lockedAt === null ? namesOf(session) : session.selection
  const tools = lockedAt !== null && { tools: session.tools }
  const facts = { model, agent, workflow, room, parent, lockDigests }
  return { id, digest, ...facts, selection, createdAt, lockedAt, ...tools }
}

function shownHead(head: SessionHead) {
  const { id, model, agent, workflow, room, parent, lockDigests, selection, count } = head
  const facts = { model, agent, workflow, room, parent, lockDigests }
  const { createdAt, updatedAt, lockedAt, usedAtMs, digest } = head
  const times = { createdAt, updatedAt, lockedAt, usedAt: isoTime(usedAtMs), expiresAt: isoTime(endOf(head)) }
  // An unlocked session that follows the catalog has no number of tools.
  return {
    id,
    digest,
    ...facts,
    selection,
    tools: selection === 'all' && lockedAt === null ? null : count,
    ...times,
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

function askedId(request: FoundRequest & { readonly params: { readonly id: string } }) {
  refuseParameters(request)
  return { id: checkedSession(request.params.id) }
}

function askedWrite(request: FoundRequest<typeof PATH>) {
  return { ...askedId(request), precondition: preconditionOf(request.req.headers) }
}

function askedPage({ search }: FoundRequest) {
  const query = new Query(search, ['limit', 'cursor'])
  const after = query.one('cursor')
  if (after !== undefined && !isSessionId(after))
    throw invalidParameter('cursor', 'is not one that this service gave; take it from the Link header')
  return { limit: query.integer('limit', 1, SESSIONS_PAGE_MAX) ?? SESSIONS_PAGE_MAX, after }
}

const FIELDS = 'model, agent, workflow, room, parent, selection and lockDigests'

/** The fields of a session that are in the body. Throws BODY_INVALID. The message never repeats a value. */
function sessionInBody(body: JsonObject): Partial<AskedSession> {
  const { model, agent, workflow, room, parent, selection, lockDigests, ...rest } = body
  if (Object.keys(rest).length > 0) throw bodyInvalid(`The body takes ${FIELDS}, and nothing else.`)
  if (isSaid(model) && !isModel(model)) throw bodyInvalid(`The body at /model: it ${MODEL_RULE}.`)
  if (isSaid(parent) && !isSessionId(parent)) throw bodyInvalid(`The body at /parent: ${SESSION_ID_RULE}.`)
  if (lockDigests !== undefined && typeof lockDigests !== 'boolean')
    throw bodyInvalid('The body at /lockDigests: it must be true or false.')
  return {
    ...(model !== undefined && { model }),
    ...(agent !== undefined && { agent: nameIn('agent', agent) }),
    ...(workflow !== undefined && { workflow: nameIn('workflow', workflow) }),
    ...(room !== undefined && { room: nameIn('room', room) }),
    ...(parent !== undefined && { parent }),
    ...(lockDigests !== undefined && { lockDigests }),
    ...(selection !== undefined && { selection: selectionIn(selection) }),
  }
}

function isSaid(value: JsonValue | undefined): value is Exclude<JsonValue, null> {
  return value !== undefined && value !== null
}

/**
 * Reads the id of an agent, a workflow or a room. The rule for these ids is the same, because all of them can own rules or
 * scopes.
 */
function nameIn(field: string, value: JsonValue): string | null {
  if (value === null || isWorkflowId(value)) return value
  throw bodyInvalid(`The body at /${field}: it ${WORKFLOW_ID_RULE}.`)
}

/** The most characters of the name of a model. No real name is longer. */
const MODEL_LENGTH_MAX = 256
const MODEL_RULE = `must be a text of 1 to ${MODEL_LENGTH_MAX} characters`

function isModel(value: JsonValue): value is string {
  const isText = typeof value === 'string' && value.isWellFormed()
  return isText && value.length > 0 && value.length <= MODEL_LENGTH_MAX
}

function selectionIn(value: JsonValue): AskedSelection {
  if (value === 'all' || value === 'none') return value
  if (!isJsonArray(value) || !value.every((name) => typeof name === 'string'))
    throw bodyInvalid('The body at /selection: it must be "all", "none" or a list of names of tools.')
  if (value.length > SESSION_TOOLS_MAX)
    throw bodyInvalid(
      `The body at /selection: it has ${value.length} names; at most ${SESSION_TOOLS_MAX} are allowed.`,
    )
  return value
}
