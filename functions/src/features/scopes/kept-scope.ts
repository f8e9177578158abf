import { canonicalJson, formatScope, parseScope, type Digest, type Scope } from '@toolrack/contract'
import { createHash } from 'node:crypto'

/** The kinds of owners of stored scopes. */
export const SCOPE_KINDS = ['room', 'session', 'agent', 'workflow'] as const
export type ScopeOwner = { readonly kind: (typeof SCOPE_KINDS)[number]; readonly id: string }

/** The content of a stored scope: the canonical text of the scope, and names of tools that stay in lists whatever scopes say. */
export type ScopeContent = { readonly scope: string; readonly pinned: readonly string[] }

/**
 * One version. `version` counts from 1. `digest` is the digest of the content, and the entity tag. `updatedAt` is ISO 8601, UTC.
 */
export type ScopeVersion = ScopeContent & {
  readonly version: number
  readonly digest: Digest
  readonly updatedAt: string
}

/** A stored scope as lists need it. */
export type KeptScope = { readonly present: ScopeVersion; readonly scope: Scope }

/**
 * The most versions of one scope. All versions are one document of Firestore, which may have 1 MiB. They count for the bytes of
 * their user.
 */
export const VERSIONS_KEPT_MAX = 20
/**
 * The most pinned tools of a scope. They are in every list of the scope, and a version needs up to 128 characters for each of
 * them.
 */
export const PINNED_MAX = 50

/** The content in its canonical form: equal contents have equal texts. */
export function scopeContent(scope: Scope, pinned: readonly string[]): ScopeContent {
  return { scope: formatScope(scope), pinned: [...new Set(pinned)].toSorted() }
}

export function scopeDigest({ scope, pinned }: ScopeContent): Digest {
  return `sha256:${createHash('sha256').update(canonicalJson({ scope, pinned })).digest('hex')}`
}

/** The scope of a stored version. Throws for another text, because a list without its scope could be wider. */
export function readScope(present: ScopeVersion): KeptScope {
  const scope = parseScope(present.scope)
  if ('fault' in scope) throw new Error('a stored scope cannot be read')
  return { present, scope }
}
