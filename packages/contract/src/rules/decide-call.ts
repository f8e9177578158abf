import { valueAt, type JsonObject } from '../json.ts'
import { argumentKind, matchesArgument } from './argument-text.ts'
import { matchesGlob } from './matches-glob.ts'
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
  return decideBy(owned, tool, (rule) => matchesArguments(rule, tool, args))
}

/** Decides as `decideCall`, about a call which exactly these rules match. They are asked only if they are about the tool. */
export function decideBy(
  owned: readonly OwnedRules[],
  tool: RuledTool,
  matches: (rule: Rule) => boolean,
): RuleDecision {
  return strictest(owned.map((one) => decideOfOwner(one, tool, matches)))
}

/** True if the rule is about the tool, with some arguments at least. */
export function isAbout({ tool: glob, class: toolClass }: Rule, { name, classes }: RuledTool): boolean {
  return (toolClass === undefined || classes.includes(toolClass)) && matchesGlob(glob, name, 'name')
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
  for (const [index, rule] of set.rules.entries()) {
    if (effect !== undefined && strictness(rule) >= strictness({ effect })) continue
    if (!isAbout(rule, tool) || !matches(rule)) continue
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
  return new Set(set.rules.filter((rule) => isAbout(rule, tool) && matchesArguments(rule, tool, args)))
}

function matchesArguments(rule: Rule, tool: RuledTool, args: JsonObject): boolean {
  return Object.entries(rule.args ?? {}).every(([name, glob]) => {
    const value = Object.hasOwn(args, name) ? args[name] : undefined
    return matchesArgument(glob, value, argumentKind(name, tool.parameters), rule.effect)
  })
}
