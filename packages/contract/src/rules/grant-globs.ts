import { GRANT_KINDS, type Grant, type GrantKind } from '../grants.ts'
import { GlobSet, NO, YES, type Answer, type StepsLeft } from '../matching/glob-set.ts'
import { grantUses, hostGlob, packageGlob, type GrantText } from './grant-texts.ts'
import type { GrantRule, Rule } from './rule-set.ts'

/** A rule that denies or asks because of a grant of the tool. `rule` is the index of the rule in its set. */
export type GrantFinding = {
  readonly effect: 'deny' | 'ask'
  readonly rule: number
  readonly grant: Grant
  /** True if the rule is an `allow`, and no `allow` of the set matches the grant. */
  readonly isLimit: boolean
}

/** What the rules of a set about grants say about one tool. */
export type GrantFindings = {
  /** The indexes of the rules that match a grant of the tool. */
  readonly matched: ReadonlySet<number>
  /** The rules that deny or ask, in the order of the rules. */
  readonly strict: readonly GrantFinding[]
}

export const NO_FINDINGS: GrantFindings = { matched: new Set(), strict: [] }

/**
 * The most steps of automata for all grants of one tool. A glob of a host with a `?` needs about 40 for each grant, and a tool
 * has at most 20 hosts. If a comparison would need more, `deny` and `ask` match, and `allow` does not. With this limit, a user
 * who writes rules cannot delay the lists of other users.
 */
const GRANT_STEPS_MAX = 65_536

type Placed = { readonly rule: GrantRule; readonly index: number }

/** The globs of the rules of one set that are about grants. */
export class GrantGlobs {
  readonly #kinds: ReadonlyMap<GrantKind, KindGlobs>
  /** The last grants and the findings for them. They are kept, because several questions about a tool follow each other. */
  #last: { readonly grants: readonly Grant[]; readonly findings: GrantFindings } | undefined

  constructor(rules: readonly Rule[]) {
    const placed = rules.flatMap((rule, index) => (rule.grant === undefined ? [] : [{ rule, index }]))
    const kinds = GRANT_KINDS.map((kind) => [kind, placed.filter(({ rule }) => rule.grant === kind)] as const)
    this.#kinds = new Map(
      kinds.flatMap(([kind, own]) => (own.length > 0 ? [[kind, new KindGlobs(kind, own)] as const] : [])),
    )
  }

  findings(grants: readonly Grant[]): GrantFindings {
    if (this.#kinds.size === 0 || grants.length === 0) return NO_FINDINGS
    if (this.#last?.grants !== grants) this.#last = { grants, findings: this.#compare(grants) }
    return this.#last.findings
  }

  #compare(grants: readonly Grant[]): GrantFindings {
    const steps = { left: GRANT_STEPS_MAX }
    const matched = new Set<number>()
    const strict = new Map<number, GrantFinding>()
    for (const grant of grants) {
      const found = this.#kinds.get(grant.kind)?.compare(grant, steps)
      for (const index of found?.matched ?? []) matched.add(index)
      for (const one of found?.strict ?? [])
        if (!strict.has(one.rule)) strict.set(one.rule, { ...one, grant })
    }
    return { matched, strict: [...strict.values()].toSorted((a, b) => a.rule - b.rule) }
  }
}

/** The rules about one kind of grants. */
class KindGlobs {
  readonly #placed: readonly Placed[]
  /** The index of the first rule that allows. With such a rule, other uses of this kind are denied. */
  readonly #limit: number | undefined
  readonly #compare: (text: GrantText, steps: StepsLeft) => readonly Answer[]

  constructor(kind: GrantKind, placed: readonly Placed[]) {
    this.#placed = placed
    this.#limit = placed.find(({ rule }) => rule.effect === 'allow')?.index
    const values = placed.map(({ rule }) => rule.value)
    if (kind === 'packages') {
      const globs = values.map(packageGlob)
      const names = setOf(globs.map(({ name }) => name))
      const rests = setOf(globs.map(({ rest }) => rest))
      this.#compare = ({ name, rest }, steps) => {
        const restAnswers = rests.answers(rest, steps)
        return names.answers(name, steps).map((answer, at) => both(answer, restAnswers[at]))
      }
    } else {
      const globs = setOf(kind === 'network' ? values.map(hostGlob) : values)
      this.#compare = ({ name }, steps) => globs.answers(name, steps)
    }
  }

  /** Compares a grant. Each part of its use must be allowed by some rule, if there is a rule that allows. */
  compare(grant: Grant, steps: StepsLeft) {
    const matched = new Set<number>()
    const strict: Omit<GrantFinding, 'grant'>[] = []
    let isAllowed = true
    // The uses of a host without a port share the text of the host.
    const known = new Map<string, readonly Answer[]>()
    const compared = (text: GrantText): readonly Answer[] => {
      const key = `${text.name} ${text.rest}`
      const answers = known.get(key) ?? this.#compare(text, steps)
      known.set(key, answers)
      return answers
    }
    for (const { texts, also } of grantUses(grant)) {
      const answers = texts.map(compared)
      const others = also.map(compared)
      let isUseAllowed = false
      for (const [at, { rule, index }] of this.#placed.entries()) {
        if (rule.effect === 'allow') {
          if (!answers.some((each) => each[at] === YES)) continue
          isUseAllowed = true
          matched.add(index)
        } else if ([...answers, ...others].some((each) => each[at] !== NO)) {
          matched.add(index)
          strict.push({ effect: rule.effect, rule: index, isLimit: false })
        }
      }
      isAllowed &&= isUseAllowed
    }
    if (this.#limit !== undefined && !isAllowed)
      strict.push({ effect: 'deny', rule: this.#limit, isLimit: true })
    return { matched, strict }
  }
}

function setOf(globs: readonly string[]): GlobSet {
  return new GlobSet(globs, 'text')
}

/** The answer for a glob of two parts: `NO` if one part does not match, else the less certain answer. */
function both(one: Answer, other: Answer = NO): Answer {
  return one === NO || other === NO ? NO : one === YES ? other : one
}
