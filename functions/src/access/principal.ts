/**
 * Who is asking. A user is a person or their app; a job is a workflow that acts for one. `uid` is whose catalog it is
 * and whose layer is written.
 */
export type Principal = {
  readonly kind: 'user' | 'job'
  readonly uid: string
  /** Whether the global layer may be written. */
  readonly isAdmin: boolean
}
