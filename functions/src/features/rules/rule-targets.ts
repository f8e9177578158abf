import { GlobSet, grantFindings, NO, type Rule, type RuleSet, type ToolRule } from '@toolrack/contract'
import type { Turns } from '../../loop-turn.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'

/**
 * The most tools of one rule whose schemas are read. If the rule applies to more tools, its arguments are checked only by their
 * names.
 */
export const SCHEMAS_READ_MAX = 2_000

/** The most tools that an answer names. Further tools are only counted. */
export const TOOLS_SHOWN_MAX = 200

/** The tools to which one rule applies. */
export type RuleTargets = {
  /**
   * The tools, but at most one more than SCHEMAS_READ_MAX. If the rule has no arguments, only the first tool, because no more are
   * needed.
   */
  readonly tools: CatalogEntry[]
  /** True if the rule names a tool that exists, even if the tool does not have the class that the rule requires. */
  isNamed: boolean
}

/**
 * The tools of a view to which the rules of a set apply. `byRule` has the tools of each rule, and `shown` tools of any rule.
 * `more` counts the tools that are not in `shown`.
 */
export type Targets = {
  readonly byRule: readonly RuleTargets[]
  readonly shown: readonly CatalogEntry[]
  readonly more: number
}

/**
 * Finds the tools of each rule. Those of a rule about grants have a grant that its glob matches. Compares each tool with each
 * rule, so other requests get turns.
 */
export async function targetsOf(set: RuleSet, view: CatalogView, turns: Turns): Promise<Targets> {
  const { rules } = set
  const byRule = rules.map((): RuleTargets => ({ tools: [], isNamed: false }))
  const met = new Set<CatalogEntry>()
  const globs: Search[] = []
  for (const [at, rule] of rules.entries()) {
    const targets = byRule[at]
    if (!targets || rule.grant !== undefined) continue
    if (/[*?]/.test(rule.tool)) globs.push({ rule, targets })
    else meet(view.winner(rule.tool), rule, targets, met)
  }
  const names = new GlobSet(
    globs.map(({ rule }) => rule.tool),
    'name',
  )
  const isSearched = globs.length > 0 || rules.some(({ grant }) => grant !== undefined)
  for (const entry of isSearched ? view.candidates() : []) {
    if (turns.isDue) await turns.give()
    // A rule about a tool that waits for consent can be written before the consent.
    if (!view.shows(entry) && !view.isPending(entry)) continue
    const answers = names.answers(entry.name)
    for (const [at, { rule, targets }] of globs.entries())
      if (answers[at] !== NO) meet(entry, rule, targets, met)
    for (const index of grantFindings(set, entry.grants).matched) {
      const [rule, targets] = [rules[index], byRule[index]]
      if (rule && targets) meet(entry, rule, targets, met)
    }
  }
  const shown = [...met].slice(0, TOOLS_SHOWN_MAX)
  return { byRule, shown, more: met.size - shown.length }
}

/** A rule whose tools are searched. */
type Search = { readonly rule: ToolRule; readonly targets: RuleTargets }

function meet(
  entry: CatalogEntry | undefined,
  { class: toolClass, args }: Rule,
  targets: RuleTargets,
  met: Set<CatalogEntry>,
): void {
  if (!entry) return
  targets.isNamed = true
  if (toolClass !== undefined && entry.classes.every((one) => one !== toolClass)) return
  met.add(entry)
  const most = args === undefined ? 1 : SCHEMAS_READ_MAX + 1
  if (targets.tools.length < most) targets.tools.push(entry)
}
