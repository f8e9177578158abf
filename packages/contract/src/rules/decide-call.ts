import type { JsonObject } from '../json.ts'
import { ToolReadings, type ReadTool } from '../kinds/tool-readings.ts'
import { matchesArgument, readValue, type ReadText } from './argument-text.ts'
import { comparedGlobs, FOLLOWED_STEPS_MAX, holds, toolAnswers, type CompareGlob } from './rule-globs.ts'
import {
  RULE_EFFECTS,
  type OwnedRules,
  type Rule,
  type RuleEffect,
  type RuleOwner,
  type RuleSet,
} from './rule-set.ts'

/** What rules need to know of a tool. `readings` are those of the tool, if they are known already. */
export type RuledTool = ReadTool & { readonly name: string; readonly readings?: ToolReadings }

export function readingsOfTool(tool: RuledTool): ToolReadings {
  return tool.readings ?? new ToolReadings(tool)
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
  const given = new GivenArguments(tool, args)
  const steps = { left: FOLLOWED_STEPS_MAX.call }
  const decision = strictest(
    owned.map((one) => {
      const compare = comparedGlobs(one.set, steps)
      return decideOfOwner(one, tool, (rule) => given.isMetBy(rule, compare))
    }),
  )
  return { ...decision, reason: `${decision.reason}${whyWithout(owned, decision, given)}` }
}

/** A sentence about arguments that a denying rule names and the call does not have. Empty if there are none. */
function whyWithout(
  owned: readonly OwnedRules[],
  { effect, owner, rule }: RuleDecision,
  given: GivenArguments,
): string {
  if (effect !== 'deny' || rule === null) return ''
  const found = owned.find((one) => one.owner === owner)?.set.rules[rule]
  const missing = found ? given.missingOf(found) : []
  if (missing.length === 0) return ''
  const [first] = missing
  const named = first !== undefined && /^[\w.:-]{1,64}$/.test(first) ? `'${first}'` : 'An argument'
  return ` ${named}, which it names, is missing, and a missing argument matches every deny.`
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
export function undeclaredArguments(rule: Rule, tool: RuledTool): readonly string[] {
  const { parameters } = tool
  if (parameters['additionalProperties'] !== undefined && parameters['additionalProperties'] !== false)
    return []
  if (parameters['patternProperties'] !== undefined || parameters['$ref'] !== undefined) return []
  const readings = readingsOfTool(tool)
  return Object.keys(rule.args ?? {}).filter((name) => !readings.declares(name))
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
    if (!holds(about[index], rule.effect) || !hasClass(rule, tool) || !matches(rule)) continue
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
  const given = new GivenArguments(tool, args)
  const compare = comparedGlobs(set, { left: FOLLOWED_STEPS_MAX.call })
  return new Set(rulesAbout(set, tool).filter((rule) => given.isMetBy(rule, compare)))
}

/** The rules of a set that are about the tool, with some arguments at least. */
export function rulesAbout(set: RuleSet, tool: RuledTool): readonly Rule[] {
  const answers = toolAnswers(set, tool.name)
  return set.rules.filter((rule, index) => holds(answers[index], rule.effect) && hasClass(rule, tool))
}

function hasClass({ class: toolClass }: Rule, { classes }: RuledTool): boolean {
  return toolClass === undefined || classes.some((one) => one === toolClass)
}

/** The arguments of a call. Each is read once, also if many rules name it. */
class GivenArguments {
  readonly #tool: RuledTool
  #readings: ToolReadings | undefined
  readonly #args: JsonObject
  readonly #read = new Map<string, readonly ReadText[] | undefined>()

  constructor(tool: RuledTool, args: JsonObject) {
    this.#tool = tool
    this.#args = args
  }

  isMetBy({ effect, args }: Rule, compare: CompareGlob): boolean {
    return Object.entries(args ?? {}).every(([name, glob]) =>
      matchesArgument(glob, this.#readOf(name), effect, compare),
    )
  }

  missingOf({ args }: Rule): readonly string[] {
    return Object.keys(args ?? {}).filter((name) => !Object.hasOwn(this.#args, name))
  }

  #readOf(name: string): readonly ReadText[] | undefined {
    if (!this.#read.has(name)) {
      const value = Object.hasOwn(this.#args, name) ? this.#args[name] : undefined
      this.#readings ??= readingsOfTool(this.#tool)
      this.#read.set(name, readValue(value, this.#readings.of(name)))
    }
    return this.#read.get(name)
  }
}
