import type { ToolReadings } from '../kinds/tool-readings.ts'
import { matchedSets, matchesEachText, valuesOf, type Values, type Work } from './argument-values.ts'
import { decideBy, isDeniedForGrants, readingsOfTool, rulesAbout } from './decide-call.ts'
import type { RuledTool, RuleDecision } from './decide-call.ts'
import type { OwnedRules, Rule } from './rule-set.ts'

/** The most sets of rules that are computed for one tool. Its arguments are added one after the other. */
export const MATCHED_SETS_MAX = 2_000

/**
 * The most steps of all comparisons for the same rules: for all tools together, and for one tool. A step is 32 positions of a
 * glob's automaton for one character, or one rule in one set. With this limit, a user who writes rules cannot delay the lists of
 * other users.
 */
export const COMPARED_STEPS_MAX = { allTools: 5_000_000, oneTool: 1_000_000 } as const

/**
 * The decision that denies a tool whatever its arguments are. Several rules may do so together, also of several owners. Undefined
 * if there may be arguments with which the tool is not denied. Then lists show the tool. Also undefined if finding out would take
 * too long. Then each call is decided when it is made.
 */
export function alwaysDenied(owned: readonly OwnedRules[], tool: RuledTool): RuleDecision | undefined {
  const rules = owned.flatMap(({ set }) => rulesAbout(set, tool))
  const mayDeny = rules.some(({ effect }) => effect === 'deny') || hasDenyingDefault(owned)
  if (!mayDeny && !isDeniedForGrants(owned, tool)) return undefined
  const readings = readingsOfTool(tool)
  const byOne = decideBy(owned, tool, (rule) => rule.effect !== 'deny' || deniesAll(rule, readings))
  if (byOne.effect === 'deny') return byOne
  if (rules.every(({ args }) => args === undefined)) return undefined
  const known = knownOf(owned)
  const names = new Set(rules.flatMap(({ args }) => Object.keys(args ?? {})))
  const values = new Map([...names].map((name) => [name, valuesOf(name, tool.parameters, readings.of(name))]))
  const key = JSON.stringify([rules.map((rule) => known.places.get(rule)), [...values]])
  const decided = known.decided.get(key)
  if (decided !== undefined) return decided ?? undefined
  const work = workFor(known)
  const sets = matchedRules(owned, rules, values, work)
  const isShort = sets !== undefined && work.take(sets.length * rules.length)
  const decision = isShort ? deniedTogether(owned, tool, sets) : undefined
  if (known.decided.size >= KNOWN_MAX) known.decided.clear()
  known.decided.set(key, decision ?? null)
  return decision
}

function hasDenyingDefault(owned: readonly OwnedRules[]): boolean {
  return owned.some(({ set }) => set.default === 'deny')
}

function deniesAll({ args }: Rule, readings: ToolReadings): boolean {
  return Object.entries(args ?? {}).every(([name, glob]) => matchesEachText(glob, readings.of(name)))
}

type Rules = ReadonlySet<Rule>

/** All sets of rules that match together for some arguments. Undefined if there are too many sets. */
function matchedRules(
  owned: readonly OwnedRules[],
  rules: readonly Rule[],
  argumentValues: ReadonlyMap<string, Values>,
  work: Work,
): readonly Rules[] | undefined {
  let sets: readonly Rules[] = [new Set(rules)]
  for (const [name, values] of argumentValues) {
    const about = rules.filter(({ args }) => args && Object.hasOwn(args, name))
    const lost = lostRules(owned, about, { name, values }, work)
    if (!lost || sets.length * lost.length > MATCHED_SETS_MAX) return undefined
    if (!work.take(sets.length * lost.length * rules.length)) return undefined
    sets = distinct(
      rules,
      sets.flatMap((set) => lost.map((one) => new Set([...set].filter((rule) => !one.has(rule))))),
    )
  }
  return sets
}

/** What was computed about arguments under these rules. It is kept, because it is the same for most tools. */
type Known = {
  readonly places: ReadonlyMap<Rule, number>
  readonly lost: Map<string, readonly Rules[] | undefined>
  /** The decision about a tool, by the rules about it and the values that its arguments may have. */
  readonly decided: Map<string, RuleDecision | null>
  stepsLeft: number
}
const KNOWN = new WeakMap<readonly OwnedRules[], Known>()
/** The most computed results of each kind that are kept. Few are needed, because the same rules apply to most tools. */
const KNOWN_MAX = 1_000

/** For each value that the argument may have, the rules that do not match because of it. Undefined if there are too many sets. */
function lostRules(
  owned: readonly OwnedRules[],
  about: readonly Rule[],
  { name, values }: { readonly name: string; readonly values: Values },
  work: Work,
): readonly Rules[] | undefined {
  const { places, lost } = knownOf(owned)
  const key = JSON.stringify([name, values, about.map((rule) => places.get(rule))])
  if (!lost.has(key)) {
    if (lost.size >= KNOWN_MAX) lost.clear()
    const globs = about.map(({ effect, args }) => ({ effect, glob: args?.[name] ?? '' }))
    const sets = matchedSets(values, globs, work)
    lost.set(
      key,
      sets?.map((matched) => new Set(about.filter((_rule, index) => !matched.has(index)))),
    )
  }
  return lost.get(key)
}

function knownOf(owned: readonly OwnedRules[]): Known {
  const known = KNOWN.get(owned)
  if (known) return known
  const rules = owned.flatMap(({ set }) => set.rules)
  const made: Known = {
    places: new Map(rules.map((rule, place) => [rule, place])),
    lost: new Map(),
    decided: new Map(),
    stepsLeft: COMPARED_STEPS_MAX.allTools,
  }
  KNOWN.set(owned, made)
  return made
}

function workFor(known: Known): Work {
  let left = COMPARED_STEPS_MAX.oneTool
  return {
    take(steps) {
      left -= steps
      known.stepsLeft -= steps
      return left >= 0 && known.stepsLeft >= 0
    },
  }
}

function distinct(rules: readonly Rule[], sets: readonly Rules[]): readonly Rules[] {
  const keyOf = (set: Rules): string => rules.map((rule) => (set.has(rule) ? '1' : '0')).join('')
  return [...new Map(sets.map((set) => [keyOf(set), set])).values()]
}

/**
 * The decision that denies with every one of these sets. If the sets lead to several decisions, it is the first one, and its
 * reason names all of them. Undefined if a set does not deny.
 */
function deniedTogether(
  owned: readonly OwnedRules[],
  tool: RuledTool,
  sets: readonly Rules[],
): RuleDecision | undefined {
  const found = new Map<string, RuleDecision>()
  for (const set of sets) {
    const decision = decideBy(owned, tool, (rule) => set.has(rule))
    if (decision.effect !== 'deny') return undefined
    found.set(decision.reason, decision)
  }
  const decisions = [...found.values()]
  const [first] = decisions
  if (!first || decisions.length === 1) return first
  const reasons = decisions.slice(0, REASONS_MAX).map(({ reason }) => reason)
  return { ...first, reason: `Every call is denied. ${reasons.join(' ')}` }
}

/** The most reasons in one decision. A longer sentence is hard to read. */
const REASONS_MAX = 5
