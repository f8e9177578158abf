import { GlobSet, NO, UNKNOWN, YES, type Answer, type StepsLeft } from '../matching/glob-set.ts'
import type { Grant } from '../grants.ts'
import { globsFor } from './argument-globs.ts'
import type { GlobKind } from './glob.ts'
import { compiledGlob } from './matches-glob.ts'
import { GrantGlobs, NO_FINDINGS, type GrantFindings } from './grant-globs.ts'
import type { Rule, RuleEffect, RuleSet } from './rule-set.ts'

/** A function that compares a glob of a rule with a text. */
export type CompareGlob = (glob: string, text: string, kind: GlobKind) => Answer

/**
 * The most steps of automata: for the name of one tool, and for the arguments of one call. If a comparison would need more, its
 * answer is `UNKNOWN`.
 */
export const FOLLOWED_STEPS_MAX = { name: 4_096, call: 4_194_304 } as const

/**
 * True if a rule with this effect matches according to the answer. An unknown answer matches `deny` and `ask`, and never `allow`.
 */
export function holds(answer: Answer | undefined, effect: RuleEffect): boolean {
  return answer === YES || (answer === UNKNOWN && effect !== 'allow')
}

/** The globs of one rule set. A text is compared with all of them at once. */
class RuleGlobs {
  readonly #rules: readonly Rule[]
  readonly #tools: GlobSet
  /** The last tool name and the answers for it. They are kept, because several questions about a tool follow each other. */
  #last: { readonly name: string; readonly answers: readonly Answer[] } | undefined
  #texts: PlacedGlobs | undefined
  #grants: GrantGlobs | undefined

  constructor({ rules }: RuleSet) {
    this.#rules = rules
    this.#tools = new GlobSet(
      // A rule about grants names no tool. The empty glob matches no name.
      rules.map(({ tool = '' }) => tool),
      'name',
    )
  }

  /** The size of this object: the characters of all globs, plus SET_LENGTH for other data. */
  get length(): number {
    const lengths = this.#rules.flatMap((rule) => [
      rule.grant === undefined ? rule.tool : rule.value,
      ...Object.values(rule.args ?? {}),
    ])
    return lengths.reduce((sum, { length }) => sum + length + 1, SET_LENGTH)
  }

  /** For each rule, whether its glob matches the name of a tool. */
  toolAnswers(name: string): readonly Answer[] {
    if (this.#last?.name !== name)
      this.#last = { name, answers: this.#tools.answers(name, { left: FOLLOWED_STEPS_MAX.name }) }
    return this.#last.answers
  }

  get grants(): GrantGlobs {
    return (this.#grants ??= new GrantGlobs(this.#rules))
  }

  /** The globs for all arguments, compared as texts. They include the other spellings that `deny` and `ask` also match. */
  get texts(): PlacedGlobs {
    return (this.#texts ??= placed(
      this.#rules.flatMap(({ args }) => Object.values(args ?? {}).flatMap(spelt)),
    ))
  }
}

/**
 * The spellings of a glob that are compared with long values, which are texts and URLs. Canonical values of other kinds are
 * short.
 */
function spelt(glob: string): readonly string[] {
  return [glob, ...globsFor(glob, { kind: 'url' }, 'deny')]
}

/** A set of globs for texts, and for each glob its index in the set. */
type PlacedGlobs = { readonly set: GlobSet; readonly places: ReadonlyMap<string, number> }

function placed(globs: readonly string[]): PlacedGlobs {
  const distinct = [...new Set(globs)]
  return {
    set: new GlobSet(distinct, 'text'),
    places: new Map(distinct.map((glob, place) => [glob, place])),
  }
}

/** What a compiled set counts in addition to its globs, in characters. */
const SET_LENGTH = 256

/** The most characters of all globs that are kept compiled. A character takes up to 64 bytes. */
const COMPILED_LENGTH_MAX = 1_048_576

/** The compiled rule sets, the most recently used one at the end. */
const KNOWN = new Map<RuleSet, RuleGlobs>()
let knownLength = 0
/** The rule set that was used last. Most questions are about the same set as the question before. */
let newest: { readonly set: RuleSet; readonly globs: RuleGlobs } | undefined

function globsOf(set: RuleSet): RuleGlobs {
  if (newest?.set === set) return newest.globs
  const known = KNOWN.get(set)
  const globs = known ?? new RuleGlobs(set)
  newest = { set, globs }
  KNOWN.delete(set)
  KNOWN.set(set, globs)
  if (known) return known
  knownLength += globs.length
  for (const [oldest, { length }] of KNOWN) {
    if (knownLength <= COMPILED_LENGTH_MAX || oldest === set) break
    KNOWN.delete(oldest)
    knownLength -= length
  }
  return globs
}

/** For each rule of the set, in order, whether the glob for the tool matches this name. */
export function toolAnswers(set: RuleSet, name: string): readonly Answer[] {
  return globsOf(set).toolAnswers(name)
}

/** What the rules of the set about grants say about a tool with these grants. */
export function grantFindings(set: RuleSet, grants: readonly Grant[]): GrantFindings {
  return grants.length === 0 ? NO_FINDINGS : globsOf(set).grants.findings(grants)
}

/**
 * Makes a function that compares the globs of a rule set with the arguments of one call. It compares each text only once, with
 * all globs.
 */
export function comparedGlobs(set: RuleSet, steps: StepsLeft): CompareGlob {
  return comparing(() => globsOf(set).texts, steps)
}

/** Makes a function that compares all of these globs with each text at once. */
export function comparedTogether(globs: readonly string[]): CompareGlob {
  const all = placed(globs)
  return comparing(() => all, { left: Infinity })
}

function comparing(globs: () => PlacedGlobs, steps: StepsLeft): CompareGlob {
  const compared = new Map<string, readonly Answer[]>()
  return (glob, text, kind) => {
    const { set, places } = globs()
    const place = kind === 'path' ? undefined : places.get(glob)
    // For `deny` and `ask`, other spellings are compared too, which may not be in the set.
    if (place === undefined) return compiledGlob(glob, kind).answers(text, steps)[0] ?? NO
    let answers = compared.get(text)
    if (!answers) compared.set(text, (answers = set.answers(text, steps)))
    return answers[place] ?? NO
  }
}

/** Compares a glob without a set. */
export const comparedAlone: CompareGlob = (glob, text, kind) =>
  compiledGlob(glob, kind).answers(text)[0] ?? NO
