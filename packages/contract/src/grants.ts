import { sha256Hex } from './sha256.ts'
import type { Digest } from './definition-digest.ts'
import { canonicalJson, type JsonObject, type JsonValue } from './json.ts'
import type { ToolRunner } from './tool-definition.ts'

/** The kinds of grants. A module asks for grants, and a person accepts them before its tools can be called. */
export const GRANT_KINDS = ['network', 'packages', 'secrets'] as const
export type GrantKind = (typeof GRANT_KINDS)[number]

/**
 * Something that a module asks for beyond the standard library. The value is a host of `network`, a requirement of `packages` such
 * as `pandas>=2`, or the name of a secret. `caller:NAME` is the secret NAME of the user who makes the call.
 */
export type Grant = { readonly kind: GrantKind; readonly value: string }

/** The grants of one tool, sorted. Empty if its runner asks for none. */
export function grantsOf(runner: ToolRunner | undefined): readonly Grant[] {
  if (runner?.kind !== 'python') return NO_GRANTS
  const asked = GRANT_KINDS.flatMap((kind) => textsIn(runner[kind]).map((value): Grant => ({ kind, value })))
  return asked.length === 0 ? NO_GRANTS : sortedGrants(asked)
}

/** All tools without grants share this list, because a catalog may have 100,000 tools. */
const NO_GRANTS: readonly Grant[] = []

/** Each grant once, sorted by kind and then by value, both in the order of code units. */
export function sortedGrants(grants: readonly Grant[]): readonly Grant[] {
  const byKey = new Map(grants.map((grant) => [`${grant.kind} ${grant.value}`, grant]))
  return [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, grant]) => grant)
}

/** The digest of sorted grants: the SHA-256 of their canonical JSON (RFC 8785). Consent is given to exactly this digest. */
export function grantsDigest(grants: readonly Grant[]): Digest {
  return `sha256:${sha256Hex(canonicalJson(grants.map(({ kind, value }): JsonObject => ({ kind, value }))))}`
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
}
