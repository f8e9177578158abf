import { canonicalJson, formatScope, parseScope, type Digest, type Scope } from '@toolrack/contract'
import { createHash } from 'node:crypto'

/** The kinds of owners that a stored scope can have. */
export const SCOPE_KINDS = ['room', 'session', 'agent', 'workflow'] as const
export type ScopeOwner = { readonly kind: (typeof SCOPE_KINDS)[number]; readonly id: string }

/**
 * The content of a stored scope: the canonical text of the scope, and the names of its pinned tools, which no scope leaves out of
 * a list.
 */
export type ScopeContent = { readonly scope: string; readonly pinned: readonly string[] }

/**
 * One version of a stored scope. `version` counts from 1. `digest` is that of the content, and is also the entity tag.
 * `updatedAt` is ISO 8601, UTC.
 */
export type ScopeVersion = ScopeContent & {
  readonly version: number
  readonly digest: Digest
  readonly updatedAt: string
}

/** A stored scope, as lists use it: its present version, and the scope that was parsed from it. */
export type KeptScope = { readonly present: ScopeVersion; readonly scope: Scope }

/**
 * The most versions of one stored scope. They are in one document of Firestore, which may have 1 MiB. They count for the bytes of
 * their user.
 */
export const VERSIONS_KEPT_MAX = 20
/**
 * The most pinned tools of a stored scope. They are in every list with this scope, and each can take up to 128 characters of a
 * version.
 */
export const PINNED_MAX = 50

/** The content of a stored scope in its canonical form: equal contents have equal texts. */
export function scopeContent(scope: Scope, pinned: readonly string[]): ScopeContent {
  return { scope: formatScope(scope), pinned: [...new Set(pinned)].toSorted() }
}

export function scopeDigest({ scope, pinned }: ScopeContent): Digest {
  return `sha256:${createHash('sha256').update(canonicalJson({ scope, pinned })).digest('hex')}`
}

/**
 * Parses the scope of a stored version. Throws if it cannot be parsed, because a list without its scope could have too many
 * tools.
 */
export function readScope(present: ScopeVersion): KeptScope {
  const scope = parseScope(present.scope)
  if ('fault' in scope) throw new Error('a stored scope cannot be read')
  return { present, scope }
}
