import { canonicalJson, type OwnedRules, type Rule, type RuleSet } from '@toolrack/contract'
import { randomBytes } from 'node:crypto'

/**
 * A random text, called the mark, for each rule of a set that asks. The key is the rule's index, or `default` for a default that
 * asks. A mark is made when the rule comes into the set. A rule that was removed and is written again gets another mark. So an
 * `always` that answers a rule ends for good when the rule changes. Rules that are older than marks have none.
 */
export type RuleMarks = Readonly<Record<string, string>>

/** The rules of an owner with their marks, if they are kept in a store. */
export type MarkedRules = OwnedRules & { readonly marks?: RuleMarks | undefined }

type Kept = { readonly set: RuleSet; readonly marks?: RuleMarks | undefined }

/** A text that no other mark has. */
export function newMark(): string {
  return randomBytes(9).toString('base64url')
}

/**
 * The marks of a set that replaces `before`. A rule that was in `before` keeps its mark, whatever its index is now. Undefined if
 * no rule has a mark.
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

/** The text of a rule. Equal for equal rules. */
export function ruleText(rule: Rule): string {
  return canonicalJson(rule)
}

/** The text of a rule with its mark, for the key of an answer to the rule. `at` is the rule's index, or `default`. */
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
