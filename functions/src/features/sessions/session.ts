import { canonicalJson, type Digest } from '@toolrack/contract'
import { createHash } from 'node:crypto'

/** The id of a session, which its client chooses. It is safe as a part of a path and as the id of a document. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/

export const SESSION_ID_RULE =
  'the id of a session is 1 to 128 letters, digits, _ . : or - (ASCII), a letter or digit first'

export function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && SESSION_ID.test(value)
}

/** The most tools that a session can name. With them, a session still fits into one document of Firestore, which has 1 MiB. */
export const SESSION_TOOLS_MAX = 5_000

/**
 * The longest chain of a session, its parent, the parent's parent, and so on. Each list and call reads and joins all sessions of
 * the chain.
 */
export const SESSION_DEPTH_MAX = 8

/** How long a session is kept after its last use. */
const SESSION_KEPT_MS = 30 * 24 * 60 * 60 * 1_000

/** The least time after which the use of a session is written again, in milliseconds. */
export const USE_WRITTEN_MS = 60 * 60 * 1_000

/** A tool of a selection. It has a digest only if the session is locked. */
export type ChosenTool = { readonly name: string; readonly digest: Digest | null }

/** The facts that a client states about its session, without the selection. */
export type SessionFacts = {
  readonly model: string | null
  readonly agent: string | null
  readonly workflow: string | null
  readonly room: string | null
  /** The id of the parent session. The session can never have more tools than its parent. */
  readonly parent: string | null
  /** True if a tool whose definition changes after the lock can no longer be called through the session. */
  readonly lockDigests: boolean
}

/** A session without its tools. Times are ISO 8601, UTC. Only `usedAtMs` is in milliseconds since 1970. */
export type SessionHead = SessionFacts & {
  readonly id: string
  /** A random text that distinguishes this session from every other, also from a deleted one with the same id. */
  readonly key: string
  /** The key of the parent. Missing if there is no parent, or if the session was made before this field existed. */
  readonly parentKey?: string
  /**
   * The selection that the client has asked for. With `all`, the session has all tools of the catalog, also later ones, until it
   * is locked.
   */
  readonly selection: 'all' | 'none' | 'chosen'
  /** How many tools are chosen or locked. */
  readonly count: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly lockedAt: string | null
  readonly usedAtMs: number
  /** The entity tag. It does not change when the session is used. */
  readonly digest: Digest
}

/**
 * A session with its chosen or locked tools, sorted by code unit. If the session is not locked and its selection is `all`, there
 * are no tools here.
 */
export type Session = SessionHead & { readonly tools: readonly ChosenTool[] }

/** The tools that a client asks for, by their canonical names. */
export type AskedSelection = 'all' | 'none' | readonly string[]

/**
 * The time at which a session expires if it is not used again. USE_WRITTEN_MS is added, because not every use is written at once.
 */
export function endOf({ usedAtMs }: Pick<SessionHead, 'usedAtMs'>): number {
  return usedAtMs + SESSION_KEPT_MS + USE_WRITTEN_MS
}

export function isOver(session: Pick<SessionHead, 'usedAtMs'>, nowMs: number): boolean {
  return nowMs >= endOf(session)
}

type Tags = 'digest' | 'count'

/** The session with its `count` and its entity tag computed. */
export function tagged(session: Omit<Session, Tags> & Partial<Pick<Session, Tags>>): Session {
  const { usedAtMs: _use, updatedAt: _at, digest: _tag, count: _count, ...content } = session
  const digest: Digest = `sha256:${createHash('sha256').update(canonicalJson(content)).digest('hex')}`
  return { ...session, count: session.tools.length, digest }
}

/**
 * True if the present session with the parent's id is the parent. False if the parent was deleted and another session has its id
 * now.
 */
export function isChildOf({ parentKey }: Pick<SessionHead, 'parentKey'>, parentNow: string): boolean {
  return parentKey === undefined || parentKey === parentNow
}

export function headOf({ tools: _tools, ...head }: Session): SessionHead {
  return head
}

export function namesOf(session: Session): AskedSelection {
  return session.selection === 'chosen' ? session.tools.map(({ name }) => name) : session.selection
}

/** A session that was deleted. `key` distinguishes it from a later session with the same id. */
export type DeletedSession = { readonly uid: string; readonly key: string }
