import type { Digest } from '@toolrack/contract'

/** A session and its agent. */
export type SessionOfAgent = { readonly id: string; readonly agent: string | null }

/** The tools that a session allows: a tool must be in `names`. The object never changes. A changed selection is a new object. */
export type SessionSelection = {
  readonly id: string
  /** A text that differs for each session, even if a deleted session had the same id. */
  readonly key: string
  readonly names: 'all' | ReadonlySet<string>
  /** The digest that the definition of each tool must still have. */
  readonly digests?: ReadonlyMap<string, Digest>
  /** A text that differs after a change of the selection. */
  readonly revision: string
  readonly lockedAt: string | null
  /** The session and its parents, whose rules all apply. */
  readonly lineage: readonly SessionOfAgent[]
  readonly agent?: string
  readonly workflow?: string
  readonly room?: string
}

/** The session of a list or of a call. */
export type CallingSession = Pick<SessionSelection, 'lineage'>
