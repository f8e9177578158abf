import type { Digest } from '@toolrack/contract'
import type { CallLimits } from '../call-limits.ts'
import { createHash } from 'node:crypto'

/** A user id. It is safe as a part of a path, because it has no `/` and no `.`. */
const UID = /^[A-Za-z0-9_-]{1,128}$/

export const UID_RULE = 'a user id is 1 to 128 letters, digits, _ or - (ASCII)'

export function isUid(value: unknown): value is string {
  return typeof value === 'string' && UID.test(value)
}

export type GrantedTool = { readonly name: string; readonly digest: Digest }

/** The tools that a job token names, each with its digest. The job sees no other tool of the catalog. */
export type Grant = {
  /** Equal for grants of the same tools and digests, in any order. */
  readonly id: string
  readonly tools: ReadonlyMap<string, Digest>
}

export function grantOf(tools: readonly GrantedTool[]): Grant {
  const sorted = tools.map(({ name, digest }) => `${name}@${digest}`).toSorted()
  return {
    id: createHash('sha256').update(sorted.join('\n')).digest('base64url').slice(0, 22),
    tools: new Map(tools.map(({ name, digest }) => [name, digest])),
  }
}

/** A person, or an app that the person uses. */
export type User = {
  readonly kind: 'user'
  readonly uid: string
  /** An admin may for example write the global layer. */
  readonly isAdmin: boolean
  /** True if the token may also decide approvals and write rules. The embedded server's token for tools and models may not. */
  readonly mayApprove?: boolean | undefined
  /**
   * Which of its two tokens the embedded server received. Undefined for other kinds of tokens, because these name their holder.
   */
  readonly token?: 'printed' | 'approver' | undefined
  readonly grant?: undefined
  readonly workflowId?: undefined
}

/**
 * A workflow that acts for a user with the token of a service account, or with the local token of the embedded server. Only the
 * holder of the local token is an admin.
 */
export type AccountJob = Omit<User, 'kind' | 'mayApprove'> & {
  readonly kind: 'job'
  readonly mayApprove?: undefined
}

/** A workflow that acts for a user with a job token. */
export type TokenJob = {
  readonly kind: 'job'
  readonly uid: string
  readonly isAdmin: false
  readonly mayApprove?: undefined
  readonly token?: undefined
  readonly grant: Grant
  /** The workflow that the token names. */
  readonly workflowId: string
  /** When the token ends, in milliseconds since 1970. No call is made for a failed one after this time. */
  readonly endsAtMs?: number | undefined
  /** The limits of the calls that are made with this token, and the id of the token. */
  readonly limited?: { readonly tokenId: string; readonly limits: CallLimits } | undefined
}

/** The sender of a request. `uid` is the user whose catalog is read and whose layer is written. */
export type Principal = User | AccountJob | TokenJob
