import { GRANT_KINDS, type Grant, type OwnedRules } from '@toolrack/contract'
import type { RuledTool, RuleSet, ScopeItem } from '@toolrack/contract'
import { matchesArgument, readValue } from '../../../packages/contract/src/rules/argument-text.ts'
import { matchedSets } from '../../../packages/contract/src/rules/argument-values.ts'
import {
  askingDecisions,
  decideCall,
  isDeniedForGrants,
  matchedRules,
  rulesAbout,
} from '../../../packages/contract/src/rules/decide-call.ts'
import { GrantGlobs } from '../../../packages/contract/src/rules/grant-globs.ts'
import { GlobAutomaton } from '../../../packages/contract/src/rules/glob-automaton.ts'
import { compiledGlob, matchesGlob } from '../../../packages/contract/src/rules/matches-glob.ts'
import {
  comparedAlone,
  comparedGlobs,
  comparedTogether,
  grantFindings,
  toolAnswers,
} from '../../../packages/contract/src/rules/rule-globs.ts'
import { inScope, itemsNaming, scopeTest } from '../../../packages/contract/src/scopes/in-scope.ts'
import { NameGlobs } from '../../../packages/contract/src/scopes/name-globs.ts'
import { FilteredLines } from '../../../functions/src/redaction/filtered-lines.ts'
import { printedFilter } from '../../../functions/src/redaction/known-secrets.ts'
import { NOT_SENSITIVE } from '../../../functions/src/redaction/sensitive.ts'
import { StoredSecrets } from '../../../functions/src/redaction/stored-secrets.ts'
import { atOnce } from '../../../functions/src/loop-turn.ts'
import { badGlobs, type BadTexts } from '../bad-texts.ts'
import type { Calls } from './calls.ts'

const RULES = 'packages/contract/src/rules/'
const SCOPES = 'packages/contract/src/scopes/'
const REDACTION = 'functions/src/redaction/'

/** The kinds that are compared in their own ways. */
const KINDS = ['text', 'command', 'url', 'date-time'] as const

const TOOL: RuledTool = { name: 'a', classes: ['read'], parameters: {} }

/** Rule sets are compiled once, as in the service. */
function ruleSetOf(bad: BadTexts): RuleSet {
  const rules = badGlobs(bad).map((glob) => ({ effect: 'deny', tool: '*', args: { text: glob } }) as const)
  return { default: 'allow', rules }
}

function ownedOf(bad: BadTexts): readonly OwnedRules[] {
  return [{ owner: { kind: 'user', id: 'ann' }, set: ruleSetOf(bad) }]
}

/** Functions that compare a text of up to 64 KB with up to 200 patterns. */
export const COMPARING: Calls<(bad: BadTexts) => unknown> = {
  [`${RULES}decide-call.ts`]: {
    decideCall: (bad) => decideCall(ownedOf(bad), TOOL, { text: bad.text }),
    matchedRules: (bad) => matchedRules(ruleSetOf(bad), TOOL, { text: bad.text }),
    rulesAbout: (bad) => rulesAbout(toolRulesOf(bad), { ...TOOL, name: bad.text }),
    isDeniedForGrants: (bad) =>
      isDeniedForGrants([{ owner: { kind: 'user', id: 'ann' }, set: grantRulesOf(bad) }], {
        ...TOOL,
        grants: grantsOf(bad),
      }),
    askingDecisions(bad) {
      const owned: OwnedRules = { owner: { kind: 'user', id: 'ann' }, set: grantRulesOf(bad) }
      return askingDecisions(owned, { ...TOOL, grants: grantsOf(bad) }, { text: bad.text })
    },
  },
  [`${RULES}grant-globs.ts`]: {
    GrantGlobs: (bad) => new GrantGlobs(grantRulesOf(bad).rules).findings(grantsOf(bad)),
  },
  [`${RULES}rule-globs.ts`]: {
    toolAnswers: (bad) => toolAnswers(toolRulesOf(bad), bad.text),
    grantFindings: (bad) => grantFindings(grantRulesOf(bad), grantsOf(bad)),
    comparedGlobs(bad) {
      const set = ruleSetOf(bad)
      const compare = comparedGlobs(set, { left: Infinity })
      return set.rules.map(({ args }) => compare(args?.['text'] ?? '', bad.text, 'text'))
    },
    comparedTogether(bad) {
      const globs = badGlobs(bad)
      const compare = comparedTogether(globs)
      return globs.map((glob) => compare(glob, bad.text, 'text'))
    },
    comparedAlone: (bad) => comparedAlone(badGlobs(bad)[0] ?? '', bad.text, 'text'),
  },
  [`${RULES}argument-text.ts`]: {
    matchesArgument: (bad) =>
      KINDS.map((kind) => matchesArgument(badGlobs(bad)[0] ?? '', readValue(bad.text, [{ kind }]), 'deny')),
  },
  [`${RULES}argument-values.ts`]: {
    matchedSets(bad) {
      const globs = badGlobs(bad).map((glob) => ({ glob, effect: 'deny' }) as const)
      const values = {
        readings: [{ kind: 'text' }],
        listed: [bad.text],
        mayBeText: false,
        mayBeOther: false,
      } as const
      return matchedSets(values, globs, { take: () => true })
    },
  },
  [`${RULES}matches-glob.ts`]: {
    matchesGlob: (bad) => matchesGlob(badGlobs(bad)[0] ?? '', bad.text, 'text'),
    compiledGlob: (bad) => compiledGlob(badGlobs(bad)[0] ?? '', 'path').answers(bad.text),
  },
  [`${RULES}glob-automaton.ts`]: {
    GlobAutomaton: (bad) => new GlobAutomaton(badGlobs(bad).slice(0, 10), 'path').matches(bad.text),
  },
  [`${SCOPES}in-scope.ts`]: {
    inScope: (bad) => inScope({ kind: 'items', items: itemsOf(bad) }, toolNamed(bad.text)),
    scopeTest: (bad) => scopeTest({ kind: 'items', items: itemsOf(bad) })(toolNamed(bad.text)),
    itemsNaming: (bad) => itemsNaming(itemsOf(bad))(toolNamed(bad.text)),
  },
  [`${SCOPES}name-globs.ts`]: {
    NameGlobs: (bad) => new NameGlobs(itemsOf(bad).map(({ text }) => text)).matching(bad.text),
  },
  [`${REDACTION}known-secrets.ts`]: {
    printedFilter: (bad) => printedFilter({ password: bad.patterns }, NOT_SENSITIVE)(bad.text),
  },
  [`${REDACTION}filtered-lines.ts`]: {
    FilteredLines(bad) {
      const lines = new FilteredLines(printedFilter({ password: bad.patterns }, NOT_SENSITIVE))
      for (let at = 0; at < bad.text.length; at += 1) lines.take(bad.text.charAt(at))
      return lines.end()
    },
  },
  [`${REDACTION}stored-secrets.ts`]: {
    StoredSecrets({ text, patterns }) {
      const stored = new StoredSecrets(patterns)
      return [
        atOnce(stored.withoutInJson(JSON.stringify([text, { [text]: 1 }]))),
        atOnce(stored.isInBytes(Buffer.from(text))),
      ]
    },
  },
}

/** The globs as rules about grants of each kind. */
function grantRulesOf(bad: BadTexts): RuleSet {
  const rules = badGlobs(bad).map(
    (value, at) => ({ effect: 'deny', grant: GRANT_KINDS[at % 3] ?? 'network', value }) as const,
  )
  return { default: 'allow', rules }
}

function grantsOf({ text }: BadTexts): readonly Grant[] {
  return GRANT_KINDS.map((kind) => ({ kind, value: text }))
}

function toolRulesOf(bad: BadTexts): RuleSet {
  return { default: 'allow', rules: badGlobs(bad).map((glob) => ({ effect: 'deny', tool: glob })) }
}

/** Items with the 1,000 characters that a scope may have. */
function itemsOf(bad: BadTexts): readonly ScopeItem[] {
  return badGlobs(bad, 250)
    .slice(0, 4)
    .map((text) => ({ excludes: false, by: 'name', text }))
}

function toolNamed(name: string) {
  return { name, tags: [name], category: name, internal: false }
}
