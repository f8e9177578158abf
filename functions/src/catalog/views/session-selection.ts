import type { Digest } from '@toolrack/contract'

/** A session and its agent. */
export type SessionOfAgent = { readonly id: string; readonly agent: string | null }

/** What a session allows: a tool must be in `names`. Never changes: another selection is another object. */
export type SessionSelection = {
  readonly id: string
  /** Differs for each session, also if one with the same id was deleted before. */
  readonly key: string
  readonly names: 'all' | ReadonlySet<string>
  /** The digests that tools must still have. */
  readonly digests?: ReadonlyMap<string, Digest>
  /** Differs after a change of the selection. */
  readonly revision: string
  readonly lockedAt: string | null
  /** The session and its parents, whose rules all apply. */
  readonly lineage: readonly SessionOfAgent[]
  readonly agent?: string
  readonly workflow?: string
  readonly room?: string
}

/** The session through which something is listed or called. */
export type CallingSession = Pick<SessionSelection, 'lineage'>
