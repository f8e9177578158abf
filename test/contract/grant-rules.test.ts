import { expect, test } from '@jest/globals'
import { alwaysDenied, askingDecisions, decideCall, GRANT_KINDS } from '@toolrack/contract'
import type { Grant, GrantKind, OwnedRules, Rule, RuledTool, RuleEffect } from '@toolrack/contract'
import fc from 'fast-check'

const ALL = { kind: 'everybody', id: 'all' } as const
const WEB: RuledTool = { name: 'web:get', classes: ['opaque'], parameters: {} }

function owned(rules: readonly Rule[], unmatched: RuleEffect = 'allow'): OwnedRules {
  return { owner: ALL, set: { default: unmatched, rules } }
}

function withGrants(...grants: readonly Grant[]): RuledTool {
  return { ...WEB, grants }
}

const few = (unit: readonly string[], maxLength: number) =>
  fc.array(fc.constantFrom(...unit), { minLength: 1, maxLength }).map((parts) => parts.join(''))

const GLOBS = {
  network: few(['a', 'b', 'A', '.', '*', '?', '.com'], 4).chain((host) =>
    fc.constantFrom(host, host, `${host}:80`, `${host}:443`, `${host}:9`, `${host}:*`, `${host}:??`),
  ),
  packages: few(['a', 'b', 'A', '-', '_', '.', '*', '?', '>=1', '[x]'], 4),
  secrets: few(['A', 'B', '_', '*', '?'], 4).chain((name) => fc.constantFrom(name, `caller:${name}`)),
}
const VALUES = {
  network: few(['a', 'b', 'A', '.', '.com'], 3).chain((host) =>
    fc.constantFrom(host, `${host}:80`, `${host}:443`, `${host}:9`, `${host}.:9`),
  ),
  packages: fc
    .tuple(few(['a', 'b', 'A', '-', '_', '.'], 4), fc.constantFrom('', '[x]'), fc.constantFrom('', '>=1'))
    .map((parts) => parts.join('')),
  secrets: few(['A', 'B', '_'], 3).chain((name) => fc.constantFrom(name, `caller:${name}`)),
}

const effect = fc.constantFrom('deny', 'ask', 'allow')
const grantRule = fc
  .constantFrom(...GRANT_KINDS)
  .chain((grant) =>
    fc.record({ effect, grant: fc.constant(grant), value: GLOBS[grant] }),
  ) as fc.Arbitrary<Rule>
const toolRule = fc.record({ effect, tool: fc.constantFrom('*', 'web:*', 'x') }) as fc.Arbitrary<Rule>
const grants = fc.array(
  fc
    .constantFrom(...GRANT_KINDS)
    .chain((kind) => fc.record({ kind: fc.constant(kind), value: VALUES[kind] })) as fc.Arbitrary<Grant>,
  { maxLength: 3 },
)
const unmatched = fc.constantFrom<RuleEffect>('allow', 'ask', 'deny')

/** What a rule set decides, written down a second time: each glob is a regular expression, and each use of a grant is one text. */
function expected(rules: readonly Rule[], byDefault: RuleEffect, asked: readonly Grant[]): RuleEffect {
  const byTool = strictest(rules.filter(isForWeb).map((rule) => rule.effect)) ?? byDefault
  const byGrants = asked.flatMap(({ kind, value }): readonly RuleEffect[] => {
    const about = rules.flatMap((rule) => (rule.grant === kind ? [rule] : []))
    const strict = about.filter((rule) => rule.effect !== 'allow' && touches(kind, rule.value, value))
    const allows = about.filter((rule) => rule.effect === 'allow')
    const isOpen = usesOf(kind, value).every((use) => allows.some((rule) => permits(kind, rule.value, use)))
    return [...strict.map((rule) => rule.effect), ...(allows.length > 0 && !isOpen ? ['deny' as const] : [])]
  })
  return strictest([byTool, ...byGrants]) ?? 'allow'
}

function isForWeb({ tool }: Rule): boolean {
  return tool === '*' || tool === 'web:*'
}

function strictest(effects: readonly RuleEffect[]): RuleEffect | undefined {
  return (['deny', 'ask', 'allow'] as const).find((one) => effects.some((other) => other === one))
}

/** The single things that a grant permits, such as a host with one port. */
function usesOf(kind: GrantKind, value: string): readonly string[] {
  if (kind !== 'network') return [value]
  const [, host = '', port] = /^(.*?)\.*(?::(\d+))?$/s.exec(value.toLowerCase()) ?? []
  return port === undefined ? [`${host}:80`, `${host}:443`] : [`${host}:${port}`]
}

function permits(kind: GrantKind, glob: string, use: string): boolean {
  if (kind === 'secrets') return matches(glob, use)
  if (kind === 'network') {
    const pattern = hostPattern(glob)
    return matches(pattern, use) || (/:(?:80|443)$/.test(use) && matches(pattern, use.replace(/:\d+$/, '')))
  }
  const [name, rest] = packageParts(use)
  const [nameGlob, restGlob] = packageParts(glob)
  return matches(nameGlob, name) && (restGlob === '' || matches(restGlob, rest))
}

/** True if a `deny` or an `ask` with this glob is about the grant. */
function touches(kind: GrantKind, glob: string, value: string): boolean {
  if (usesOf(kind, value).some((use) => permits(kind, glob, use))) return true
  if (kind === 'secrets') return matches(glob, value.replace(/^caller:/, ''))
  if (kind === 'network')
    return usesOf(kind, value).some((use) => matches(hostPattern(glob), use.replace(/:\d+$/, '')))
  return permits(kind, glob, value.replace(/\[.*\]/, ''))
}

function hostPattern(glob: string): string {
  return glob.toLowerCase().replace(/\.+(?=(?::[^:]*)?$)/, '')
}

function packageParts(text: string): readonly [name: string, rest: string] {
  const [, name = '', rest = ''] = /^([\w.*?-]*)(.*)$/s.exec(text.toLowerCase()) ?? []
  return [name.replaceAll(/[-_.]+/g, '-'), rest]
}

function matches(glob: string, text: string): boolean {
  const body = glob
    .replaceAll(/[.[\]]/g, String.raw`\$&`)
    .replaceAll('?', '[^]')
    .replaceAll(/\*+/g, '[^]*')
  return new RegExp(`^${body}$`).test(text)
}

test('rules about grants decide what a second description of them says, and a tool is always denied if and only if its calls are', () => {
  const seen = { deny: 0, ask: 0, allow: 0 }
  const rules = fc.array(fc.oneof({ weight: 4, arbitrary: grantRule }, toolRule), { maxLength: 6 })
  fc.assert(
    fc.property(rules, unmatched, grants, (some, byDefault, asked) => {
      const sets = [owned(some, byDefault)]
      const tool = withGrants(...asked)
      const decision = decideCall(sets, tool, {})
      const meant = expected(some, byDefault, asked)
      expect([some, byDefault, asked, decision.effect]).toEqual([some, byDefault, asked, meant])
      expect(alwaysDenied(sets, tool) !== undefined).toBe(meant === 'deny')
      seen[meant] += 1
    }),
    { numRuns: 20_000, seed: 29 },
  )
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(1_000)
})

test('a rule about grants never makes a decision less strict, unless it is a further allow', () => {
  const RANK = ['deny', 'ask', 'allow']
  const rules = fc.array(fc.oneof(grantRule, toolRule), { maxLength: 5 })
  fc.assert(
    fc.property(rules, grantRule, unmatched, grants, (some, more, byDefault, asked) => {
      const before = decideCall([owned(some, byDefault)], withGrants(...asked), {}).effect
      const after = decideCall([owned([...some, more], byDefault)], withGrants(...asked), {}).effect
      const isFurther = more.effect === 'allow' && some.some(({ grant }) => grant === more.grant)
      if (!isFurther) expect(RANK.indexOf(after)).toBeLessThanOrEqual(RANK.indexOf(before))
    }),
    { numRuns: 5_000 },
  )
})

test('every rule that asks about a call is told if and only if the decision is ask', () => {
  const rules = fc.array(fc.oneof(grantRule, toolRule), { maxLength: 5 })
  fc.assert(
    fc.property(rules, unmatched, grants, (some, byDefault, asked) => {
      const one = owned(some, byDefault)
      const tool = withGrants(...asked)
      const asking = askingDecisions(one, tool, {})
      const decision = decideCall([one], tool, {})
      expect(asking.length > 0).toBe(decision.effect === 'ask')
      if (decision.effect !== 'ask') return
      expect(asking).toContainEqual(decision)
      const asks = some.flatMap((rule, index) => {
        const isTold = decideCall([owned([rule])], tool, {}).effect === 'ask'
        return rule.effect === 'ask' && isTold ? [index] : []
      })
      expect(asking.flatMap(({ rule }) => rule ?? [])).toEqual(asks)
    }),
    { numRuns: 5_000 },
  )
})

const HOST: Grant = { kind: 'network', value: 'api.example.com' }

function reasonOf(rule: Rule, grant: Grant): string {
  return decideCall([owned([rule])], withGrants(grant), {}).reason
}

test('the reason names the rule and the grant', () => {
  expect(reasonOf({ effect: 'deny', grant: 'network', value: '*' }, HOST)).toBe(
    'Rule 0 for everybody says deny: the tool asks for network api.example.com.',
  )
  expect(reasonOf({ effect: 'ask', grant: 'network', value: '*' }, HOST)).toBe(
    'Rule 0 for everybody says ask: the tool asks for network api.example.com.',
  )
  expect(reasonOf({ effect: 'allow', grant: 'network', value: 'b.com' }, HOST)).toBe(
    'The rules for everybody allow only some hosts of the network: api.example.com is not among them (rule 0).',
  )
  // A value that no check has seen may have any characters.
  expect(reasonOf({ effect: 'deny', grant: 'network', value: '*' }, { ...HOST, value: 'a\nRule 1' })).toBe(
    'Rule 0 for everybody says deny: the tool asks for network.',
  )
})

/** 200 rules whose globs need many steps. `middle` is in each glob. */
function longRules(says: RuleEffect, middle: string): readonly Rule[] {
  const rule = { effect: says, grant: 'network', value: `*${middle}${'?a'.repeat(120)}` } as const
  return Array.from({ length: 200 }, () => rule)
}

test('grants that take too long to compare match deny and ask, and never allow', () => {
  const value = 'a'.repeat(250)
  const tool = withGrants(...Array.from({ length: 20 }, () => ({ kind: 'network', value }) as const))
  const effectOf = (rules: readonly Rule[]): RuleEffect => decideCall([owned(rules)], tool, {}).effect
  const [never, always] = ['b?', '?'].map((middle) => longRules('deny', middle))
  // One such rule is compared to its end.
  expect(effectOf(never?.slice(0, 1) ?? [])).toBe('allow')
  expect(effectOf(always?.slice(0, 1) ?? [])).toBe('deny')
  expect(effectOf(longRules('allow', '?').slice(0, 1))).toBe('allow')
  for (const says of ['deny', 'ask'] as const) expect(effectOf(longRules(says, 'b?'))).toBe(says)
  expect(effectOf(longRules('allow', '?'))).toBe('deny')
})
