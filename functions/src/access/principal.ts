import type { Digest, Layer, RuleOwner } from '@toolrack/contract'
import { createHash } from 'node:crypto'

/** A user id. It is safe as a part of a path, because it has no `/` and no `.`. */
const UID = /^[A-Za-z0-9_-]{1,128}$/

export const UID_RULE = 'a user id is 1 to 128 letters, digits, _ or - (ASCII)'

export function isUid(value: unknown): value is string {
  return typeof value === 'string' && UID.test(value)
}

export type GrantedTool = { readonly name: string; readonly digest: Digest }

/** The tools that a job token names, each with its digest. Its job sees no other tool of the catalog. */
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
  /** True if the token may also govern calls. The token of the embedded server that tools and models get may not. */
  readonly mayApprove?: boolean | undefined
  /** Which of its two tokens the embedded server was shown. Other tokens name their holder. */
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
}

/** The sender of a request. `uid` is the user whose catalog is read and whose layer is written. */
export type Principal = User | AccountJob | TokenJob

/**
 * An action of a principal.
 *
 * - `read`: the list, explain and present definitions.
 * - `read-versions`: older definitions.
 * - `read-modules`: the sources of modules.
 * - `refresh`: reading the folder of modules again.
 * - `call`: calls of listed tools.
 * - `mint`: a job token for the principal's own tools.
 * - `read-approvals`: the user's approvals. Only users have this permission.
 * - `govern`: decisions about approvals, and writes of rules. Only users have this permission, with a token that may approve.
 * - `read-sessions`, `write-sessions`: the user's sessions. To list and to call through one needs neither.
 * - `write`: changes of a layer.
 * - `write-agents`: changes of the user's agents and of their links to sessions.
 * - `rules`: reading the rules of an owner, whose id is `id`.
 * - `write-rules`: writing them. Needs the permission `govern` too.
 * - `read-scopes`, `write-scopes`: the stored scopes of the principal's user. Lists by reference need `read` only.
 * - `simulate`: asking what the rules would say of a call.
 * - `read-audit`: records of the user `uid`, or of all users whom the principal may see.
 * - `verify-audit`, `erase-audit`: checking the records of everybody, and erasing those of one user, with a token that may approve.
 */
export type Action =
  | {
      readonly verb:
        | 'read'
        | 'call'
        | 'read-versions'
        | 'refresh'
        | 'mint'
        | 'simulate'
        | 'read-approvals'
        | 'govern'
        | 'read-sessions'
        | 'write-sessions'
        | 'read-scopes'
        | 'write-scopes'
    }
  | { readonly verb: 'write-agents' }
  | { readonly verb: 'verify-audit' | 'erase-audit' }
  | { readonly verb: 'read-audit'; readonly uid: string | undefined }
  | { readonly verb: 'write' | 'read-modules'; readonly layer: Layer }
  | { readonly verb: 'rules' | 'write-rules'; readonly owner: RuleOwner['kind']; readonly id: string }
