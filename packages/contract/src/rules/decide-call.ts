import { valueAt, type JsonObject } from '../json.ts'
import { argumentKind, matchesArgument } from './argument-text.ts'
import type { Answer, StepsLeft } from '../matching/glob-set.ts'
import { comparedGlobs, FOLLOWED_STEPS_MAX, holds, toolAnswers } from './rule-globs.ts'
import {
  RULE_EFFECTS,
  type OwnedRules,
  type Rule,
  type RuleEffect,
  type RuleOwner,
  type RuleSet,
} from './rule-set.ts'
import type { ToolClass } from './tool-classes.ts'

/** What rules need to know of a tool. `parameters` is its schema. */
export type RuledTool = {
  readonly name: string
  readonly classes: readonly ToolClass[]
  readonly parameters: JsonObject
}

/**
 * What the rules say of a call. `rule` is the index of the rule in the set of its owner, or null for the owner's default. `owner` is
 * null if there are no rules. The reason is a sentence.
 */
export type RuleDecision = {
  readonly effect: RuleEffect
  readonly owner: RuleOwner | null
  readonly rule: number | null
  readonly reason: string
}

/**
 * Decides a call. Within one owner, a `deny` that matches wins, then an `ask`, then an `allow`, then the default. Of several
 * owners, the strictest decision wins, and of equally strict ones the first. So the rules of one more owner can only take away.
 */
export function decideCall(owned: readonly OwnedRules[], tool: RuledTool, args: JsonObject): RuleDecision {
  const steps = { left: FOLLOWED_STEPS_MAX.call }
  return strictest(owned.map((one) => decideOfOwner(one, tool, argumentsMatcher(one.set, tool, args, steps))))
}

/** Decides as `decideCall`, about a call which exactly these rules match. They are asked only if they are about the tool. */
export function decideBy(
  owned: readonly OwnedRules[],
  tool: RuledTool,
  matches: (rule: Rule) => boolean,
): RuleDecision {
  return strictest(owned.map((one) => decideOfOwner(one, tool, matches)))
}

/** The arguments that a rule names and the tool does not declare. A tool that takes any argument has none of them. */
export function undeclaredArguments(rule: Rule, { parameters }: RuledTool): readonly string[] {
  if (parameters['additionalProperties'] !== undefined && parameters['additionalProperties'] !== false)
    return []
  if (parameters['patternProperties'] !== undefined || parameters['$ref'] !== undefined) return []
  return Object.keys(rule.args ?? {}).filter(
    (name) => valueAt(parameters, ['properties', name]) === undefined,
  )
}

const NO_RULES: RuleDecision = { effect: 'allow', owner: null, rule: null, reason: 'There are no rules.' }

function strictest(decisions: readonly RuleDecision[]): RuleDecision {
  const [first = NO_RULES, ...others] = decisions
  return others.reduce((found, other) => (strictness(other) < strictness(found) ? other : found), first)
}

function strictness({ effect }: { readonly effect: RuleEffect }): number {
  return RULE_EFFECTS.indexOf(effect)
}

function decideOfOwner(
  { owner, set }: OwnedRules,
  tool: RuledTool,
  matches: (rule: Rule) => boolean,
): RuleDecision {
  let found: number | null = null
  let effect: RuleEffect | undefined
  const about = toolAnswers(set, tool.name)
  for (const [index, rule] of set.rules.entries()) {
    if (effect !== undefined && strictness(rule) >= strictness({ effect })) continue
    if (!holds(about[index] as Answer, rule.effect) || !hasClass(rule, tool) || !matches(rule)) continue
    found = index
    effect = rule.effect
    if (effect === 'deny') break
  }
  if (effect === undefined)
    return {
      effect: set.default,
      owner,
      rule: null,
      reason: `No rule ${of(owner)} is about the call, and their default is ${set.default}.`,
    }
  return { effect, owner, rule: found, reason: `Rule ${found} ${of(owner)} says ${effect}.` }
}

function of({ kind, id }: RuleOwner): string {
  return kind === 'everybody' ? 'for everybody' : `of the ${kind} ${id}`
}

/** The rules of one owner that match a call. Each rule is compared once, also if several decisions are made from them. */
export function matchedRules(set: RuleSet, tool: RuledTool, args: JsonObject): ReadonlySet<Rule> {
  const matches = argumentsMatcher(set, tool, args, { left: FOLLOWED_STEPS_MAX.call })
  return new Set(rulesAbout(set, tool).filter(matches))
}

/** The rules of a set that are about the tool, with some arguments at least. */
export function rulesAbout(set: RuleSet, tool: RuledTool): readonly Rule[] {
  const answers = toolAnswers(set, tool.name)
  return set.rules.filter(
    (rule, index) => holds(answers[index] as Answer, rule.effect) && hasClass(rule, tool),
  )
}

function hasClass({ class: toolClass }: Rule, { classes }: RuledTool): boolean {
  return toolClass === undefined || classes.some((one) => one === toolClass)
}

/** Tells whether the arguments of a call match those of a rule of the set. */
function argumentsMatcher(
  set: RuleSet,
  tool: RuledTool,
  args: JsonObject,
  steps: StepsLeft,
): (rule: Rule) => boolean {
  const compare = comparedGlobs(set, steps)
  return (rule) =>
    Object.entries(rule.args ?? {}).every(([name, glob]) => {
      const value = Object.hasOwn(args, name) ? args[name] : undefined
      return matchesArgument(glob, value, argumentKind(name, tool.parameters), rule.effect, compare)
    })
}
