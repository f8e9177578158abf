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

/** The most sessions above each other: a session, its parent, and so on. Each list and call reads and joins all of them. */
export const SESSION_DEPTH_MAX = 8

/** The time for which a session is kept after its last use. */
const SESSION_KEPT_MS = 30 * 24 * 60 * 60 * 1_000

/** The least time between two writes of a session's use, in milliseconds. */
export const USE_WRITTEN_MS = 60 * 60 * 1_000

/** A tool of a selection. A tool that is chosen but not locked has no digest. */
export type ChosenTool = { readonly name: string; readonly digest: Digest | null }

/** The facts that a client states about its session. The selection is kept apart. */
export type SessionFacts = {
  readonly model: string | null
  readonly agent: string | null
  readonly workflow: string | null
  readonly room: string | null
  /** The id of the parent session. The selection never exceeds that of the parent. */
  readonly parent: string | null
  /** True if a tool whose definition changes after the lock can no longer be called through the session. */
  readonly lockDigests: boolean
}

/** A session without its tools. Times are ISO 8601, UTC, but for `usedAtMs`, which is in milliseconds since 1970. */
export type SessionHead = SessionFacts & {
  readonly id: string
  /** A text that no other session has, also no deleted one with the same id. */
  readonly key: string
  /** The key of the parent. Missing if there is no parent, or if the session is older than this field. */
  readonly parentKey?: string
  /** The selection as it was asked for. `all` follows the catalog until the lock. */
  readonly selection: 'all' | 'none' | 'chosen'
  /** How many tools are chosen or locked. */
  readonly count: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly lockedAt: string | null
  readonly usedAtMs: number
  /** The entity tag. A use does not change it. */
  readonly digest: Digest
}

/**
 * A session with its chosen or locked tools, sorted by code unit. An unlocked session that follows the catalog has no tools here.
 */
export type Session = SessionHead & { readonly tools: readonly ChosenTool[] }

/** The tools that a client asks for. Names are canonical. */
export type AskedSelection = 'all' | 'none' | readonly string[]

/** The end of a session that is not used again. USE_WRITTEN_MS is added, because a use is not always written at once. */
export function endOf({ usedAtMs }: Pick<SessionHead, 'usedAtMs'>): number {
  return usedAtMs + SESSION_KEPT_MS + USE_WRITTEN_MS
}

export function isOver(session: Pick<SessionHead, 'usedAtMs'>, nowMs: number): boolean {
  return nowMs >= endOf(session)
}

type Tags = 'digest' | 'count'

/** The session with its count and its entity tag. */
export function tagged(session: Omit<Session, Tags> & Partial<Pick<Session, Tags>>): Session {
  const { usedAtMs: _use, updatedAt: _at, digest: _tag, count: _count, ...content } = session
  const digest: Digest = `sha256:${createHash('sha256').update(canonicalJson(content)).digest('hex')}`
  return { ...session, count: session.tools.length, digest }
}

/** False if the parent of the session was deleted, and another session has its id now. */
export function isChildOf({ parentKey }: Pick<SessionHead, 'parentKey'>, parentNow: string): boolean {
  return parentKey === undefined || parentKey === parentNow
}

export function headOf({ tools: _tools, ...head }: Session): SessionHead {
  return head
}

export function namesOf(session: Session): AskedSelection {
  return session.selection === 'chosen' ? session.tools.map(({ name }) => name) : session.selection
}

/** A session that was deleted. Another session with the same id has another key. */
export type DeletedSession = { readonly uid: string; readonly key: string }
