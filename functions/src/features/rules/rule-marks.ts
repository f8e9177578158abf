import { canonicalJson, type OwnedRules, type Rule, type RuleSet } from '@toolrack/contract'
import { randomBytes } from 'node:crypto'

/**
 * A random text, called the mark, for each rule of a set that asks. The key is the index of the rule, or `default` for a default
 * that asks. A rule gets its mark when it is added to the set. If it is removed and added again, it gets another mark. So an
 * `always` for a rule ends for good when the rule is changed. Rules from the time before marks have none.
 */
export type RuleMarks = Readonly<Record<string, string>>

/** The rules of an owner, with their marks if they are in a store. */
export type MarkedRules = OwnedRules & { readonly marks?: RuleMarks | undefined }

type Kept = { readonly set: RuleSet; readonly marks?: RuleMarks | undefined }

/** A text that no other mark has. */
export function newMark(): string {
  return randomBytes(9).toString('base64url')
}

/**
 * The marks of a set that replaces the set `before`. A rule that was in `before` keeps its mark, even if its index has changed.
 * Undefined if no rule has a mark.
 */
export function marksAfter(before: Kept | undefined, set: RuleSet): RuleMarks | undefined {
  const fresh = newMark()
  const known = new Map(before && asking(before.set).map(([at, text]) => [text, before.marks?.[at]]))
  const marks: Record<string, string> = {}
  for (const [at, text] of asking(set)) {
    const mark = known.has(text) ? known.get(text) : fresh
    if (mark !== undefined) marks[at] = mark
  }
  return Object.keys(marks).length === 0 ? undefined : marks
}

/** A text for a rule. Equal rules have equal texts. */
export function ruleText(rule: Rule): string {
  return canonicalJson(rule)
}

/**
 * The text of a rule together with its mark, from which the key of an answer to the rule is made. `at` is the rule's index, or
 * `default`.
 */
export function markedText(marks: RuleMarks | undefined, at: number | 'default', text: string): string {
  const mark = marks?.[at]
  return mark === undefined ? text : `${mark} ${text}`
}

function asking({ default: byDefault, rules }: RuleSet): readonly (readonly [string, string])[] {
  const own = rules.flatMap((rule, index) =>
    rule.effect === 'ask' ? [[String(index), ruleText(rule)] as const] : [],
  )
  return byDefault === 'ask' ? [...own, ['default', ''] as const] : own
}
