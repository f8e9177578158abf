import type { Digest } from '@toolrack/contract'

/** A session and its agent. */
export type SessionOfAgent = { readonly id: string; readonly agent: string | null }

/** The tools that a session allows: a tool must be in `names`. The object never changes. A changed selection is a new object. */
export type SessionSelection = {
  readonly id: string
  /** A text that is different for each session, even for a new session with the id of a deleted one. */
  readonly key: string
  readonly names: 'all' | ReadonlySet<string>
  /** The digest that the definition of each tool must still have. */
  readonly digests?: ReadonlyMap<string, Digest>
  /** A text that differs after a change of the selection. */
  readonly revision: string
  readonly lockedAt: string | null
  /** The session and its parents. The rules of all of them apply. */
  readonly lineage: readonly SessionOfAgent[]
  readonly agent?: string
  readonly workflow?: string
  readonly room?: string
}

/** The session in which a list is requested or a call is made. */
export type CallingSession = Pick<SessionSelection, 'lineage'>
