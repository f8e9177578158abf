import { ToolrackError } from '@toolrack/contract'
import type { Session, SessionHead } from './session.ts'

/** What a change makes of a session: another one, none (`null`), or the same if nothing is said. */
export type PlannedSession<Result> = { readonly result: Result; readonly session?: Session | null }

/** The most sessions of one user. */
export const SESSIONS_MAX = 10_000

/** The most bytes of one user's sessions, as `sessionBytes` counts them. Enough for 10,000 sessions of 80 chosen tools. */
export const SESSIONS_BYTES_MAX = 64 * 1024 * 1024

/** The number and the bytes of one user's sessions. */
export type SessionSums = { readonly sessions: number; readonly bytes: number }

export const SESSION_BOUNDS: SessionSums = { sessions: SESSIONS_MAX, bytes: SESSIONS_BYTES_MAX }

/** Throws SESSIONS_FULL if a session that has `before` bytes, or is new, must not become one of `after` bytes. */
export function refuseFull(
  sums: SessionSums,
  before: number | undefined,
  after: number,
  bounds: SessionSums,
): void {
  if (before === undefined && sums.sessions >= bounds.sessions)
    throw new ToolrackError(
      'SESSIONS_FULL',
      `You have ${sums.sessions} sessions, and ${bounds.sessions} are allowed; delete some first.`,
    )
  const bytes = sums.bytes - (before ?? 0) + after
  if (bytes > bounds.bytes && after > (before ?? 0))
    throw new ToolrackError(
      'SESSIONS_FULL',
      `Your sessions would have ${bytes} bytes, and ${bounds.bytes} are allowed; delete some, or choose fewer tools.`,
    )
}

/** Bytes that are counted for a session in addition to its texts. */
const RECORD_BYTES = 512

/** The bytes that a session counts. */
export function sessionBytes(texts: { readonly head: string; readonly tools: string }): number {
  return RECORD_BYTES + Buffer.byteLength(texts.head) + Buffer.byteLength(texts.tools)
}

/** A tool as a store keeps it: its name, and the hex digits of its digest. 5,000 of the longest fit into a document of Firestore. */
type KeptTool = readonly [name: string, hex?: string]

const PREFIX = 'sha256:' as const

/** A session as the texts that a store keeps. */
export function sessionTexts({ tools, ...head }: Session): { readonly head: string; readonly tools: string } {
  const kept = tools.map(({ name, digest }): KeptTool =>
    digest === null ? [name] : [name, digest.slice(PREFIX.length)],
  )
  return { head: JSON.stringify(head), tools: JSON.stringify(kept) }
}

export function sessionIn(head: string, tools: string): Session {
  const kept = JSON.parse(tools) as readonly KeptTool[]
  return {
    ...headIn(head),
    tools: kept.map(([name, hex]) => ({ name, digest: hex === undefined ? null : `${PREFIX}${hex}` })),
  }
}

export function headIn(head: string): SessionHead {
  return JSON.parse(head) as SessionHead
}

/**
 * Keeps the sessions of each user. It may still have sessions that are over. Rejects with STORE_FAILED or STORE_BUSY. Every store
 * passes `test/support/session-store.contract.ts`.
 */
export type SessionStore = {
  /** Prepares all reads, for example loads a client. Never rejects. */
  readonly open?: () => Promise<void>
  readonly read: (uid: string, id: string) => Promise<Session | undefined>
  /** At most `limit` sessions whose ids come after `after`, by code unit of the id. */
  readonly page: (uid: string, after: string | undefined, limit: number) => Promise<readonly SessionHead[]>
  /**
   * Changes a session in one transaction, which may run `plan` several times. If `plan` throws, nothing is written. Rejects with
   * SESSIONS_FULL if a new or larger session does not fit into the user's bounds. `nowMs` is the present time: sessions that are
   * over may be erased.
   */
  readonly change: <Result>(
    uid: string,
    id: string,
    nowMs: number,
    plan: (session: Session | undefined) => PlannedSession<Result>,
  ) => Promise<Result>
}
