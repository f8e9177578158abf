/** What a session may list and call. `revision` is equal for equal selections. */
export type SessionSelection = {
  readonly id: string
  readonly names: 'all' | ReadonlySet<string>
  /** The digests that the tools had when the session was locked, if a changed tool must be noticed. */
  readonly digests?: ReadonlyMap<string, string>
  readonly revision: string
  readonly agent?: string
  readonly workflow?: string
  readonly room?: string
}
