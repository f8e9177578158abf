import { grantsOf, type Grant } from '../grants.ts'
import type { JsonObject } from '../json.ts'
import { ToolReadings, type ReadTool } from '../kinds/tool-readings.ts'
import { matchesArgument, readValue, type ReadText } from './argument-text.ts'
import type { GrantFinding, GrantFindings } from './grant-globs.ts'
import {
  comparedGlobs,
  FOLLOWED_STEPS_MAX,
  grantFindings,
  holds,
  toolAnswers,
  type CompareGlob,
} from './rule-globs.ts'
import {
  RULE_EFFECTS,
  type OwnedRules,
  type Rule,
  type RuleEffect,
  type RuleOwner,
  type RuleSet,
  type ToolRule,
} from './rule-set.ts'

/** What rules need to know about a tool. `readings` and `grants` can be given if they are known already. */
export type RuledTool = ReadTool & {
  readonly name: string
  readonly readings?: ToolReadings
  readonly grants?: readonly Grant[]
}

export function readingsOfTool(tool: RuledTool): ToolReadings {
  return tool.readings ?? new ToolReadings(tool)
}

/**
 * What the rules decide about a call. `rule` is the index of the deciding rule among the rules of its owner, or null if the
 * owner's default decided. `owner` is null if there are no rules. The reason is a sentence.
 */
export type RuleDecision = {
  readonly effect: RuleEffect
  readonly owner: RuleOwner | null
  readonly rule: number | null
  readonly reason: string
}

/**
 * Decides about a call. Among the rules of one owner, a matching `deny` comes first, then an `ask`, then an `allow`, then the
 * default. Rules about grants can only make this decision stricter. If there are several owners, the strictest decision counts,
 * and of equally strict ones the first. So another owner can only make a decision stricter.
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

/** A sentence about the arguments that a denying rule names but the call does not have. Empty if there are none. */
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

/**
 * Decides like `decideCall`, but asks `matches` which rules about tools match. It is asked only about rules that are for the
 * tool.
 */
export function decideBy(
  owned: readonly OwnedRules[],
  tool: RuledTool,
  matches: (rule: ToolRule) => boolean,
): RuleDecision {
  return strictest(owned.map((one) => decideOfOwner(one, tool, matches)))
}

/** The arguments that a rule names but the tool does not declare. Empty if the tool accepts any argument. */
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

function decideOfOwner(one: OwnedRules, tool: RuledTool, matches: (rule: ToolRule) => boolean): RuleDecision {
  const byTool = decideByToolRules(one, tool, matches)
  const [byGrant] = strictFindings(one.set, tool)
  if (!byGrant || strictness(byGrant) > strictness(byTool)) return byTool
  // Of two rules with the same effect, the first one is named. A default is named only if no rule has this effect.
  const isLater = strictness(byGrant) === strictness(byTool) && byGrant.rule > (byTool.rule ?? Infinity)
  return isLater ? byTool : decisionByGrant(one.owner, byGrant)
}

/** What the rules about grants say about the tool, the strictest first. */
function strictFindings(set: RuleSet, tool: RuledTool): readonly GrantFinding[] {
  return findingsOf(set, tool).strict.toSorted((a, b) => strictness(a) - strictness(b))
}

function findingsOf(set: RuleSet, tool: RuledTool): GrantFindings {
  return grantFindings(set, tool.grants ?? grantsOf(tool.runner))
}

/** True if rules about grants deny the tool, whatever its arguments are. */
export function isDeniedForGrants(owned: readonly OwnedRules[], tool: RuledTool): boolean {
  return owned.some(({ set }) => findingsOf(set, tool).strict.some(({ effect }) => effect === 'deny'))
}

function decideByToolRules(
  { owner, set }: OwnedRules,
  tool: RuledTool,
  matches: (rule: ToolRule) => boolean,
): RuleDecision {
  let found: number | null = null
  let effect: RuleEffect | undefined
  const about = toolAnswers(set, tool.name)
  for (const [index, rule] of set.rules.entries()) {
    if (rule.grant !== undefined) continue
    if (effect !== undefined && strictness(rule) >= strictness({ effect })) continue
    if (!holds(about[index], rule.effect) || !hasClass(rule, tool) || !matches(rule)) continue
    found = index
    effect = rule.effect
    if (effect === 'deny') break
  }
  if (effect === undefined || found === null)
    return {
      effect: set.default,
      owner,
      rule: null,
      reason: `No rule ${of(owner)} is about the call, and their default is ${set.default}.`,
    }
  return decisionByRule(owner, found, effect)
}

function decisionByRule(owner: RuleOwner, rule: number, effect: RuleEffect): RuleDecision {
  return { effect, owner, rule, reason: `Rule ${rule} ${of(owner)} says ${effect}.` }
}

function decisionByGrant(owner: RuleOwner, { effect, rule, grant, isLimit }: GrantFinding): RuleDecision {
  const reason = isLimit
    ? `The rules ${of(owner)} allow only some ${LIMITED[grant.kind]}: ${shownValue(grant)} is not among them (rule ${rule}).`
    : `Rule ${rule} ${of(owner)} says ${effect}: the tool asks for ${shownGrant(grant)}.`
  return { effect, owner, rule, reason }
}

/** What the values of each kind of grants are called in a sentence. */
const LIMITED = { network: 'hosts of the network', packages: 'packages', secrets: 'secrets' } as const

/** A value of a definition that no check has seen can have any characters, so it is not always shown. */
const SHOWN = /^[\x20-\x7e]{1,256}$/

function shownGrant({ kind, value }: Grant): string {
  return SHOWN.test(value) ? `${kind} ${value}` : kind
}

function shownValue({ value }: Grant): string {
  return SHOWN.test(value) ? value : 'what the tool asks for'
}

/**
 * Every rule of one owner that asks about a call, and the default if it asks. Empty unless the owner's decision about the call is
 * `ask`.
 */
export function askingDecisions(one: OwnedRules, tool: RuledTool, args: JsonObject): readonly RuleDecision[] {
  const { owner, set } = one
  const matched = matchedRules(set, tool, args)
  const byTool = decideByToolRules(one, tool, (rule) => matched.has(rule))
  const byGrants = findingsOf(set, tool).strict
  if (byTool.effect === 'deny' || byGrants.some(({ effect }) => effect === 'deny')) return []
  const byDefault = byTool.effect === 'ask' && byTool.rule === null ? [byTool] : []
  const byRules = set.rules.flatMap((rule, index) =>
    rule.effect === 'ask' && matched.has(rule) ? [decisionByRule(owner, index, 'ask')] : [],
  )
  const all = [...byRules, ...byGrants.map((finding) => decisionByGrant(owner, finding))]
  return [...byDefault, ...all.toSorted((a, b) => (a.rule ?? 0) - (b.rule ?? 0))]
}

function of({ kind, id }: RuleOwner): string {
  return kind === 'everybody' ? 'for everybody' : `of the ${kind} ${id}`
}

/**
 * Those rules of one owner about tools that match a call. Each rule is compared only once, even if several decisions use the
 * result.
 */
export function matchedRules(set: RuleSet, tool: RuledTool, args: JsonObject): ReadonlySet<Rule> {
  const given = new GivenArguments(tool, args)
  const compare = comparedGlobs(set, { left: FOLLOWED_STEPS_MAX.call })
  return new Set(rulesAbout(set, tool).filter((rule) => given.isMetBy(rule, compare)))
}

/** Those rules of a set about tools that match calls of the tool with at least some arguments. */
export function rulesAbout(set: RuleSet, tool: RuledTool): readonly ToolRule[] {
  const answers = toolAnswers(set, tool.name)
  return set.rules.flatMap((rule, index) => {
    if (rule.grant !== undefined) return []
    return holds(answers[index], rule.effect) && hasClass(rule, tool) ? [rule] : []
  })
}

function hasClass({ class: toolClass }: ToolRule, { classes }: RuledTool): boolean {
  return toolClass === undefined || classes.some((one) => one === toolClass)
}

/** The arguments of a call. Each of them is read only once, even if many rules name it. */
class GivenArguments {
  readonly #tool: RuledTool
  #readings: ToolReadings | undefined
  readonly #args: JsonObject
  readonly #read = new Map<string, readonly ReadText[] | undefined>()

  constructor(tool: RuledTool, args: JsonObject) {
    this.#tool = tool
    this.#args = args
  }

  isMetBy({ effect, args }: ToolRule, compare: CompareGlob): boolean {
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
