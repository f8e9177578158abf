import type { Digest, Layer } from '@toolrack/contract'
import { createHash } from 'node:crypto'

/** Nothing in a user id may lead out of a path. */
const UID = /^[A-Za-z0-9_-]{1,128}$/

export const UID_RULE = 'a user id is 1 to 128 letters, digits, _ or - (ASCII)'

export function isUid(value: unknown): value is string {
  return typeof value === 'string' && UID.test(value)
}

export type GrantedTool = { readonly name: string; readonly digest: Digest }

/** The tools that a job token names, each with its digest. Its job sees no other tool of the catalog. */
export type Grant = {
  /** Equal for equal grants, in any order. */
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

/** A person or their app. */
export type User = {
  readonly kind: 'user'
  readonly uid: string
  /** Whether the global layer may be written. */
  readonly isAdmin: boolean
  readonly grant?: undefined
}

/** A workflow that acts for a user: by a service account, or on the embedded server by the local token. */
export type AccountJob = {
  readonly kind: 'job'
  readonly uid: string
  /** True only for the holder of the embedded server's local token. */
  readonly isAdmin: boolean
  readonly grant?: undefined
}

/** A workflow that acts for a user by a job token. */
export type TokenJob = {
  readonly kind: 'job'
  readonly uid: string
  readonly isAdmin: false
  readonly grant: Grant
}

/** Who sends a request. `uid` says whose catalog is read and whose layer is written. */
export type Principal = User | AccountJob | TokenJob

/**
 * What a principal may want to do. `read` is for the list, explain and present definitions, `read-versions` for older ones,
 * `read-modules` for the sources of modules, `refresh` to read the folder of modules again, `call` for calls of listed
 * tools, `mint` for a job token for one's own tools.
 */
export type Action =
  | { readonly verb: 'read' | 'call' | 'read-versions' | 'refresh' | 'mint' }
  | { readonly verb: 'write' | 'read-modules'; readonly layer: Layer }
