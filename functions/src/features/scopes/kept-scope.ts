import { canonicalJson, formatScope, parseScope, type Digest, type Scope } from '@toolrack/contract'
import { createHash } from 'node:crypto'

/** What is stored for an owner: the canonical text of a scope, and names of tools that stay in lists whatever scopes say. */
export type ScopeContent = { readonly scope: string; readonly pinned: readonly string[] }

/** One version. Its number counts from 1. The digest is that of the content, and the entity tag. `updatedAt` is ISO 8601, UTC. */
export type ScopeVersion = ScopeContent & {
  readonly version: number
  readonly digest: Digest
  readonly updatedAt: string
}

/** A stored scope as lists need it. */
export type KeptScope = {
  readonly present: ScopeVersion
  readonly scope: Scope
  /** The newest first. The first is the present one. */
  readonly versions: readonly ScopeVersion[]
}

export const VERSIONS_KEPT_MAX = 20
export const PINNED_MAX = 50

/** The content in its canonical form: equal contents have equal texts. */
export function scopeContent(scope: Scope, pinned: readonly string[]): ScopeContent {
  return { scope: formatScope(scope), pinned: [...new Set(pinned)].toSorted() }
}

export function scopeDigest({ scope, pinned }: ScopeContent): Digest {
  return `sha256:${createHash('sha256').update(canonicalJson({ scope, pinned })).digest('hex')}`
}

export function scopeText(versions: readonly ScopeVersion[]): string {
  return JSON.stringify(versions)
}

/** Reads what `scopeText` has written. Throws for other text, because a list without its scope could be wider. */
export function readScope(text: string): KeptScope {
  const versions = JSON.parse(text) as readonly ScopeVersion[]
  const [present] = versions
  const scope = present && parseScope(present.scope)
  if (!scope || 'fault' in scope) throw new Error('a stored scope cannot be read')
  return { present, scope, versions }
}
