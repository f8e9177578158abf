import {
  canonicalJson,
  jsonPointer,
  parseRuleSet,
  type Digest,
  type RuleOwner,
  type RuleSet,
} from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { MarkedRules, RuleMarks } from './rule-marks.ts'
import type { RuleScope } from './rule-store.ts'

/** The rule set of one owner. `digest` is also its entity tag. `updatedAt` is ISO 8601, UTC. */
export type KeptRules = {
  readonly set: RuleSet
  readonly digest: Digest
  readonly updatedAt: string
  readonly updatedBy: string
  readonly marks?: RuleMarks | undefined
}

/** One version of an owner's rules, as they were from `updatedAt` on. If `set` is null, the rules were deleted at that time. */
export type RuleVersion = {
  readonly set: RuleSet | null
  readonly digest: Digest | null
  readonly updatedAt: string
  readonly updatedBy: string
}

/** The rule sets of a scope. The key is the owner as `KIND/ID`. */
export type RuleSets = ReadonlyMap<string, KeptRules>

/** The most bytes of all rule sets of a scope together. A document of Firestore has at most 1 MiB. */
export const RULES_BYTES_MAX = 256 * 1024

/** The most owners whose rules one user may write: the user, and workflows, sessions and agents. */
export const RULE_OWNERS_MAX = 100

export function ownerKey({ kind, id }: RuleOwner): string {
  return `${kind}/${id}`
}

/** True if the owner is the operator. The operator's rules are in a file, and in no store. */
export function isOperator({ kind, id }: RuleOwner): boolean {
  return kind === 'everybody' && id === 'file'
}

/**
 * The scope in which the rules of an owner are kept. Those of workflows, sessions and agents are kept in the scope of the user
 * `uid`.
 */
export function scopeOf({ kind, id }: RuleOwner, uid: string): RuleScope {
  if (kind === 'everybody') return { kind }
  return { kind: 'user', uid: kind === 'user' ? id : uid }
}

export function ruleSetDigest(set: RuleSet): Digest {
  return `sha256:${sha256(canonicalJson(set))}`
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function ruleSetsText(sets: RuleSets): string | undefined {
  return sets.size === 0 ? undefined : JSON.stringify(Object.fromEntries(sets))
}

/** Reads a text that `ruleSetsText` has written. Throws for any other text, because no call may run without its rules. */
export function readRuleSets(text: string | undefined): RuleSets {
  if (text === undefined) return new Map()
  const kept = JSON.parse(text) as Readonly<Record<string, KeptRules>>
  return new Map(
    Object.entries(kept).map(([owner, { set, ...rest }]) => {
      const parsed = parseRuleSet(set)
      if ('set' in parsed) return [owner, { ...rest, set: parsed.set }]
      throw new Error(`the kept rules have a fault at ${jsonPointer([owner])}`)
    }),
  )
}

/** The rules of one owner among those of a scope. Empty if the owner has none. */
export function ownedRules(sets: RuleSets, owner: RuleOwner): readonly MarkedRules[] {
  const kept = sets.get(ownerKey(owner))
  return kept ? [{ owner, set: kept.set, marks: kept.marks }] : []
}
