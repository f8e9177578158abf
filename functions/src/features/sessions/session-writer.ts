import { ToolrackError } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import { holds, type Precondition } from '../../precondition.ts'
import { chosenNames, lockedTools } from './choose-tools.ts'
import type { SessionStore } from './session-store.ts'
import { noParent, noSession, PARENTS_RULE, type Sessions } from './sessions.ts'
import {
  isChildOf,
  isOver,
  namesOf,
  SESSION_DEPTH_MAX,
  tagged,
  type AskedSelection,
  type ChosenTool,
  type Session,
  type SessionFacts,
} from './session.ts'
import type { SessionSelection } from '../../catalog/views/session-selection.ts'

type Parts = {
  readonly store: Pick<SessionStore, 'change'>
  readonly sessions: Sessions
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Called after a change by this instance. */
  readonly changed?: () => void
}

/** The catalog as the caller sees it in a list through a session. */
export type ViewOf = (session: Pick<SessionSelection, 'lineage'>) => CatalogView | Promise<CatalogView>

export type AskedSession = SessionFacts & { readonly selection: AskedSelection }

/** The session that is written, its user, and the caller's catalog. */
export type SessionTarget = { readonly uid: string; readonly id: string; readonly viewOf: ViewOf }

export type WrittenSession = {
  readonly outcome: 'created' | 'updated' | 'unchanged'
  readonly session: Session
  /** The digest of the session before the write. Undefined for a new session. */
  readonly before: string | undefined
}

/** How often locking a session is tried, if other requests change the session in between. */
const LOCK_ATTEMPTS_MAX = 5

/** Writes sessions. The caller has been authorized. */
export class SessionWriter {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Creates or changes a session. If it is locked, only its model, workflow and room can be changed. Throws PRECONDITION_FAILED,
   * SESSION_LOCKED, SESSION_NOT_FOUND (for the parent), SELECTION_INVALID, SELECTION_WIDER or SESSIONS_FULL.
   */
  async put(target: SessionTarget, asked: AskedSession, precondition: Precondition): Promise<WrittenSession> {
    const { uid, id, viewOf } = target
    const parent = await this.#parent(uid, id, asked.parent)
    const view = await viewOf(lineageOf(id, asked, parent))
    const nowMs = this.#parts.now()
    const key = randomUUID()
    return this.#change(uid, id, nowMs, (present) => {
      if (!holds(precondition, present?.digest)) throw new ToolrackError('PRECONDITION_FAILED', NOT_IN_STATE)
      if (present && present.lockedAt !== null) {
        refuseOther(present, asked, canonical(view, asked.selection))
        return written(present, { ...present, ...asked, selection: present.selection }, nowMs)
      }
      const tools = chosenNames(view, asked.selection, parent)
      return written(present, unlocked(id, asked, tools, parent, present, key, nowMs), nowMs)
    })
  }

  /**
   * Makes an unlocked session with the facts and the selection of another session. Fields of `asked` replace these. If the same
   * request is repeated, nothing changes. Throws NAME_TAKEN if the id belongs to a different session, and the errors of `put`.
   */
  async fork(target: SessionTarget, source: string, asked: Partial<AskedSession>): Promise<WrittenSession> {
    const { uid, id, viewOf } = target
    const from = await this.#parts.sessions.find(uid, source)
    const { model, agent, workflow, room, parent, lockDigests } = from
    const facts = { model, agent, workflow, room, parent, lockDigests, ...asked }
    const outer = await this.#parent(uid, id, facts.parent)
    const view = await viewOf(lineageOf(id, facts, outer))
    const tools = chosenNames(view, asked.selection ?? namesOf(from), outer)
    const nowMs = this.#parts.now()
    const key = randomUUID()
    return this.#change(uid, id, nowMs, (present) => {
      const forked = unlocked(id, { ...facts, selection: tools }, tools, outer, present, key, nowMs)
      if (present && present.digest !== forked.digest) throw new ToolrackError('NAME_TAKEN', TAKEN)
      return written(present, forked, nowMs)
    })
  }

  /**
   * Locks the selection of a session, with the digests that its tools have now. If the lock is repeated, nothing changes. Throws
   * SESSION_LOCKED if the session is locked with another selection, SESSION_NOT_FOUND, SELECTION_INVALID or SELECTION_WIDER.
   */
  async lock({ uid, id, viewOf }: SessionTarget, asked: AskedSelection | undefined): Promise<Session> {
    const { sessions, now } = this.#parts
    for (let attempt = 0; attempt < LOCK_ATTEMPTS_MAX; attempt += 1) {
      const seen = await sessions.find(uid, id)
      const parent = await this.#parent(uid, id, seen.parent)
      if (parent && !isChildOf(seen, parent.key)) throw noParent()
      const view = await viewOf(lineageOf(id, seen, parent))
      if (seen.lockedAt !== null) return lockedAlready(seen, view, asked)
      const selection = asked === undefined ? namesOf(seen) : chosenNames(view, asked, parent)
      const tools = lockedTools(view, selection, parent).map(({ name, digest }) => ({ name, digest }))
      const nowMs = now()
      const { session } = await this.#change<{ readonly session: Session | undefined }>(
        uid,
        id,
        nowMs,
        (present) => {
          if (!present) throw noSession()
          if (present.lockedAt !== null) return { session: lockedAlready(present, view, asked) }
          // The session has changed since it was read. The lock begins again.
          if (present.digest !== seen.digest) return { session: undefined }
          const at = new Date(nowMs).toISOString()
          const kind = kindOf(selection)
          return {
            session: tagged({
              ...present,
              selection: kind,
              tools,
              lockedAt: at,
              updatedAt: at,
              usedAtMs: nowMs,
            }),
          }
        },
      )
      if (session) return session
    }
    throw new ToolrackError('STORE_BUSY', 'The session was changed again and again; nothing was locked.')
  }

  /** Deletes a session. Throws SESSION_NOT_FOUND or PRECONDITION_FAILED. */
  async delete(uid: string, id: string, precondition: Precondition): Promise<Session> {
    const { store, sessions, now } = this.#parts
    const nowMs = now()
    const deleted = await store.change(uid, id, (present) => {
      if (!present || isOver(present, nowMs)) throw noSession()
      if (!holds(precondition, present.digest)) throw new ToolrackError('PRECONDITION_FAILED', NOT_IN_STATE)
      return { result: present, session: null }
    })
    sessions.written(uid, id, undefined)
    this.#parts.changed?.()
    return deleted
  }

  /** Changes a session in the store. A session that has expired counts as missing. */
  async #change<Result extends { readonly session: Session | undefined }>(
    uid: string,
    id: string,
    nowMs: number,
    act: (present: Session | undefined) => Result,
  ): Promise<Result> {
    const { store, sessions } = this.#parts
    const result = await store.change<Result>(uid, id, (kept) => {
      const present = kept && !isOver(kept, nowMs) ? kept : undefined
      const result = act(present)
      return result.session === present || !result.session ? { result } : { result, session: result.session }
    })
    if (result.session) sessions.written(uid, id, result.session)
    this.#parts.changed?.()
    return result
  }

  /**
   * The selection of the parent session as it is now. Undefined if there is no parent. Throws SESSION_NOT_FOUND for the parent,
   * or BODY_INVALID if the session would be its own parent.
   */
  async #parent(uid: string, id: string, parent: string | null): Promise<SessionSelection | undefined> {
    if (parent === null) return undefined
    const { sessions } = this.#parts
    let depth = 1
    for (let next: string | null = parent; next !== null; depth += 1) {
      if (next === id || depth >= SESSION_DEPTH_MAX)
        throw new ToolrackError(
          'BODY_INVALID',
          `The body at /parent: the parents of a session ${PARENTS_RULE}.`,
        )
      const session: Session = await sessions.find(uid, next).catch((error: unknown) => {
        throw error instanceof ToolrackError && error.code === 'SESSION_NOT_FOUND'
          ? new ToolrackError('SESSION_NOT_FOUND', NO_PARENT)
          : error
      })
      next = session.parent
    }
    return sessions.selectionOf(uid, parent)
  }
}

const NOT_IN_STATE = 'The session is not in the state the request asks for.'
const TAKEN = 'Another session has this id; choose another id.'
const NO_PARENT = 'The parent, or a parent of it, is no session of yours. Make the parent first.'

function lineageOf(
  id: string,
  { agent }: Pick<SessionFacts, 'agent'>,
  parent: SessionSelection | undefined,
): Pick<SessionSelection, 'lineage'> {
  return { lineage: [{ id, agent }, ...(parent?.lineage ?? [])] }
}

function kindOf(selection: AskedSelection): Session['selection'] {
  return typeof selection === 'string' ? selection : 'chosen'
}

function unlocked(
  id: string,
  { model, agent, workflow, room, parent, lockDigests }: AskedSession,
  names: AskedSelection,
  outer: SessionSelection | undefined,
  present: Session | undefined,
  key: string,
  nowMs: number,
): Session {
  const at = new Date(nowMs).toISOString()
  return tagged({
    id,
    key: present?.key ?? key,
    model,
    agent,
    workflow,
    room,
    parent,
    ...(outer && { parentKey: outer.key }),
    lockDigests,
    selection: kindOf(names),
    tools: typeof names === 'string' ? [] : names.map((name): ChosenTool => ({ name, digest: null })),
    createdAt: present?.createdAt ?? at,
    updatedAt: at,
    lockedAt: null,
    usedAtMs: nowMs,
  })
}

/** The result of a write of `session`. If it is equal to the present session, the result has the present object. */
function written(present: Session | undefined, session: Session, nowMs: number): WrittenSession {
  const next = tagged(session)
  const before = present?.digest
  if (present && before === next.digest) return { outcome: 'unchanged', session: present, before }
  const at = new Date(nowMs).toISOString()
  const changed = { ...next, updatedAt: at, usedAtMs: nowMs }
  return { outcome: present ? 'updated' : 'created', session: changed, before }
}

/** The selection with canonical names. A name that the view does not know stays as it is. */
function canonical(view: CatalogView, asked: AskedSelection): AskedSelection {
  if (typeof asked === 'string') return asked
  if (asked.length === 0) return 'none'
  return [...new Set(asked.map((name) => view.meaning(name)?.name ?? name))]
}

function isSame(locked: Session, selection: AskedSelection): boolean {
  if (typeof selection === 'string') return locked.selection === selection
  const names = new Set(selection)
  return names.size === locked.tools.length && locked.tools.every(({ name }) => names.has(name))
}

function lockedAlready(locked: Session, view: CatalogView, asked: AskedSelection | undefined): Session {
  if (asked !== undefined && !isSame(locked, canonical(view, asked)))
    throw new ToolrackError('SESSION_LOCKED', lockedText(locked))
  return locked
}

/** Throws SESSION_LOCKED if a write would change a field that the lock has fixed. */
function refuseOther(locked: Session, asked: AskedSession, selection: AskedSelection): void {
  const { parent, agent, lockDigests } = locked
  if (
    parent === asked.parent &&
    agent === asked.agent &&
    lockDigests === asked.lockDigests &&
    isSame(locked, selection)
  )
    return
  throw new ToolrackError('SESSION_LOCKED', lockedText(locked))
}

function lockedText({ lockedAt }: Session): string {
  return `The session has had its first message (${lockedAt}), and its selection, parent, agent and lockDigests stay as they are: a PUT must repeat them, because it replaces all fields. To choose anew, fork the session.`
}
