import type { Grant } from './grant.ts'

/** A person or their app. */
export type User = {
  readonly kind: 'user'
  readonly uid: string
  /** Whether the global layer may be written. */
  readonly isAdmin: boolean
  readonly grant?: undefined
}

/** A workflow that acts for a user, through a service account; on the embedded server, through the local token. */
export type AccountJob = {
  readonly kind: 'job'
  readonly uid: string
  /** Only the holder of the embedded server's local token is one. */
  readonly isAdmin: boolean
  readonly grant?: undefined
}

/** A workflow that acts for a user by a token which names the tools it may see. */
export type TokenJob = {
  readonly kind: 'job'
  readonly uid: string
  readonly isAdmin: false
  readonly grant: Grant
}

/** Who is asking. `uid` is whose catalog it is and whose layer is written. */
export type Principal = User | AccountJob | TokenJob
