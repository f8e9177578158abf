import { expect, test } from '@jest/globals'
import { alwaysDenied, decideCall, matchesGlob, normalisedPath, parseRuleSet } from '@toolrack/contract'
import { readingsOfTool, readText, type ArgumentKind } from '@toolrack/contract'
import type { JsonObject, JsonValue, OwnedRules, RuleDecision, RuledTool } from '@toolrack/contract'
import fc from 'fast-check'
import { matchedSets, valuesOf } from '../../packages/contract/src/rules/argument-values.ts'
import { vectors } from '../support/vectors.ts'

type Asked = { readonly owned: readonly OwnedRules[]; readonly tool: RuledTool; readonly args: JsonObject }

test.each(vectors<Asked, Omit<RuleDecision, 'reason'>>('rules'))('rules: $title', ({ input, expected }) => {
  const { reason, ...decision } = decideCall(input.owned, input.tool, input.args)
  expect(decision).toEqual(expected)
  expect(reason).toMatch(/^[A-Z].*\.$/)
})

type Parsed = { readonly default: string } | { readonly faults: readonly string[] }

test.each(vectors<JsonValue, Parsed>('rule-sets'))('rule sets: $title', ({ input, expected }) => {
  const parsed = parseRuleSet(input)
  expect('set' in parsed ? { default: parsed.set.default } : { faults: pointers(parsed.faults) }).toEqual(
    expected,
  )
})

function pointers(faults: readonly { readonly pointer: string }[]): readonly string[] {
  return faults.map(({ pointer }) => pointer)
}

test('a fault of a rule set never repeats a value', () => {
  const parsed = parseRuleSet({
    default: 'SECRET',
    rules: [{ effect: 'SECRET', tool: '(SECRET)', SECRET: 1 }],
  })
  expect(JSON.stringify(parsed)).toContain('faults')
  expect(JSON.stringify(parsed)).not.toContain('SECRET')
})

const few = (unit: readonly string[], maxLength: number) =>
  fc.array(fc.constantFrom(...unit), { maxLength }).map((parts) => parts.join(''))

test('a glob means what the same regular expression means', () => {
  const globs = few(['a', 'b', '.', '/', '*', '**', '**/', '?'], 7)
  const texts = few(['a', 'b', '.', '/'], 9)
  fc.assert(
    fc.property(globs, texts, fc.constantFrom('name', 'text', 'path'), (glob, text, kind) => {
      expect([glob, text, matchesGlob(glob, text, kind)]).toEqual([
        glob,
        text,
        reference(glob, kind).test(text),
      ])
    }),
    { numRuns: 5_000 },
  )
})

test('a long glob means what the same regular expression means', () => {
  const literals = fc
    .array(fc.constantFrom('a', 'b', '/', '\u{1f600}'), { maxLength: 45 })
    .map((parts) => parts.join(''))
  const wildcards = fc.tuple(fc.constantFrom('*', '**', '/**/', '?'), few(['a', '/', '/b/'], 3))
  const made = fc.tuple(fc.array(fc.tuple(literals, wildcards), { maxLength: 4 }), literals, fc.nat(250))
  const seen = { true: 0, false: 0 }
  fc.assert(
    fc.property(made, fc.constantFrom('name', 'text', 'path'), ([parts, last, changed], kind) => {
      const glob = parts.map(([literal, [wildcard]]) => literal + wildcard).join('') + last
      const same = parts.map(([literal, [, text]]) => literal + text).join('') + last
      const text = [...same].map((character, at) => (at === changed ? 'c' : character)).join('')
      const expected = reference(glob, kind).test(text)
      seen[`${expected}`] += 1
      expect([glob, text, matchesGlob(glob, text, kind)]).toEqual([glob, text, expected])
    }),
    { numRuns: 2_000, seed: 32 },
  )
  expect(Math.min(seen.true, seen.false)).toBeGreaterThan(200)
})

test('a folder of a glob may be missing wherever it is', () => {
  const starts = Array.from({ length: 100 }, (_, length) => `${'a'.repeat(length)}/`)
  expect(starts.filter((start) => !matchesGlob(`${start}**/b`, `${start}b`, 'path'))).toEqual([])
})

test('more globs than stay compiled mean what they meant before', () => {
  const globs = Array.from({ length: 2_001 }, (_, at) => `src/${at}/*`)
  const wrong = [...globs, ...globs].filter(
    (glob) => !matchesGlob(glob, glob.replace('*', 'a'), 'path') || matchesGlob(glob, 'src/a', 'path'),
  )
  expect(wrong).toEqual([])
})

/** The meaning of a glob, written down a second time. */
function reference(glob: string, kind: 'name' | 'text' | 'path'): RegExp {
  const folders = /(?<=^|\/)\*{2,}\//g
  const body = (kind === 'path' ? glob.replace(folders, '\u0001') : glob)
    .replaceAll(/[.]/g, String.raw`\.`)
    .replaceAll('?', '\u0002')
    .replaceAll(/\*+/g, (stars) => (kind === 'path' && stars === '*' ? '[^/]*' : '[^]*'))
    .replaceAll('\u0002', kind === 'path' ? '[^/]' : '[^]')
    .replaceAll('\u0001', '(?:[^/]*/)*')
  return new RegExp(`^${body}$`, 'u')
}

test('a hostile glob against a long text ends at once', () => {
  expect(matchesGlob('a*'.repeat(60) + 'b', 'a'.repeat(20_000), 'text')).toBe(false)
  expect(matchesGlob('*a'.repeat(127) + 'b', 'a'.repeat(1_024), 'path')).toBe(false)
})

test('a normalised path never leaves its folder by .. in the middle, and stays the same if it is normalised again', () => {
  const paths = few(['a', 'b', '.', '..', '/', '//'], 9)
  fc.assert(
    fc.property(paths, (path) => {
      const normalised = normalisedPath(path)
      expect(normalisedPath(normalised)).toBe(normalised)
      expect(normalised.replace(/^(?:\.\.\/)*(?:\.\.$)?/, '').split('/')).not.toContain('..')
    }),
  )
})

const effects = fc.constantFrom('allow', 'ask', 'deny')
const rule = fc.record(
  {
    effect: effects,
    tool: fc.constantFrom('*', 'a*', 'ab', 'b?', 'c'),
    class: fc.constantFrom('read', 'delete', 'opaque'),
    args: fc.dictionary(fc.constantFrom('path', 'text'), fc.constantFrom('*', '**', 'x*', 'x/**'), {
      minKeys: 1,
    }),
  },
  { requiredKeys: ['effect', 'tool'] },
)
const owned = fc.record({
  owner: fc.constant({ kind: 'everybody', id: 'all' }),
  set: fc.record({ default: effects, rules: fc.array(rule, { maxLength: 5 }) }),
}) as fc.Arbitrary<OwnedRules>
const tool = fc.record({
  name: fc.constantFrom('a', 'ab', 'bc', 'c'),
  classes: fc.subarray(['read', 'delete', 'opaque']),
  parameters: fc.constant({ type: 'object', properties: { path: {}, text: {} } }),
}) as fc.Arbitrary<RuledTool>
const args = fc.dictionary(fc.constantFrom('path', 'text'), fc.constantFrom('x', 'x/y', '', '..', 'y'))

const RANK = ['deny', 'ask', 'allow']

test('the rules of one more owner never allow more', () => {
  fc.assert(
    fc.property(fc.array(owned, { maxLength: 3 }), owned, tool, args, (some, more, asked, given) => {
      const before = RANK.indexOf(decideCall(some, asked, given).effect)
      expect(RANK.indexOf(decideCall([...some, more], asked, given).effect)).toBeLessThanOrEqual(before)
    }),
    { numRuns: 5_000 },
  )
})

test('a tool that is always denied is denied with any arguments', () => {
  fc.assert(
    fc.property(fc.array(owned, { maxLength: 3 }), tool, args, (some, asked, given) => {
      if (alwaysDenied(some, asked)) expect(decideCall(some, asked, given).effect).toBe('deny')
    }),
    { numRuns: 5_000 },
  )
})

/** All texts of at most this many of these parts. */
function textsOf(parts: readonly string[], most: number): readonly string[] {
  if (most === 0) return ['']
  const shorter = textsOf(parts, most - 1)
  return [...new Set([...shorter, ...shorter.flatMap((text) => parts.map((part) => text + part))])]
}

/** The canonical spellings among these texts. */
function canonical(kind: ArgumentKind, texts: readonly string[]): readonly string[] {
  return texts.filter((text) => {
    const read = readText({ kind }, text)
    return typeof read === 'object' && read.text === text
  })
}

const uuids = textsOf(['0', 'a', 'f'], 2)
  .filter(({ length }) => length === 2)
  .flatMap((start, _index, ends) =>
    ends.flatMap((end) =>
      ['ffff', 'f0ff', 'faff', 'f0fa'].map((middle) => `${start}ffffff-ffff-${middle}-ffff-ffffffffff${end}`),
    ),
  )
const days = ['1970', '0001', '0210', '1000', '1212', '2001', '2120', '9999', '2012'].flatMap((year) =>
  ['01', '02', '10', '11', '12', '09'].flatMap((month) =>
    ['01', '02', '10', '11', '12', '20', '21', '22', '30'].map((day) => `${year}-${month}-${day}`),
  ),
)

/** The parts of globs about an argument, and values that match every combination of such globs that some value matches. */
const COVERED = {
  path: { parts: ['a', '/', '.', '*', '**', '/**', '**/'], values: textsOf(['a', 'z', '/', '.', '\\'], 5) },
  command: { parts: ['a', ';', '*', '**'], values: textsOf(['a', 'z', ';'], 6) },
  text: { parts: ['a', 'b', '*', '**', '?'], values: textsOf(['a', 'b', 'z'], 6) },
  uuid: {
    parts: ['0', 'a', '*', '?', '0?', '-'],
    most: 2,
    values: uuids,
    schema: { type: 'string', format: 'uuid' },
  },
  date: { parts: ['0', '1', '2', '*', '?', '-'], values: days, schema: { type: 'string', format: 'date' } },
  'date-time': {
    parts: ['-0', 'Z', '2:', '*', '?', '.'],
    values: days.flatMap((day) =>
      ['', '.5', '.2'].flatMap((rest) => [`${day}T00:00:00${rest}Z`, `${day}T22:22:22${rest}`]),
    ),
    schema: { type: 'string', format: 'date-time' },
  },
  decimal: {
    parts: ['0', '1', '-', '*', '?', '.'],
    values: canonical('decimal', textsOf(['0', '1', '9', '-', '.'], 5)),
    schema: { type: 'string', format: 'decimal' },
  },
  url: {
    parts: ['a', ':', '/', '*', '?', 'a:*'],
    values: canonical('url', textsOf(['a', 'z', ':', '/', '1'], 6)),
    schema: { type: 'string', format: 'uri' },
  },
  'required uuid': {
    parts: ['0', 'a', '*', '?', 'zz', '-'],
    values: uuids,
    schema: { type: 'string', format: 'uuid' },
    isRequired: true,
  },
  'path or text': {
    parts: ['a', '/', '*', '**'],
    values: textsOf(['a', 'z', '/', '.'], 5),
    schema: { anyOf: [{ type: 'string', format: 'path' }, { type: 'string' }] },
  },
  'edited text': {
    parts: ['a', 'A', ' ', '*', '?'],
    values: textsOf(['a', 'z', ' '], 5).filter((text) => text.trim() === text),
    schema: { type: 'string' },
    reports: ['text:strip-lower'],
  },
  other: {
    parts: ['a', 'b', '*', '?'],
    values: textsOf(['a', 'b', 'z'], 5),
    schema: { type: 'string' },
    reports: ['other'],
  },
  value: { parts: ['a', 'b', '*', '?'], values: ['a'], schema: { type: 'string' }, reports: ['value'] },
} as const

type Covered = {
  readonly parts: readonly string[]
  readonly values: readonly string[]
  readonly schema?: JsonObject
  readonly reports?: readonly string[]
  readonly isRequired?: boolean
  /** The most parts of a glob, if it is not three. */
  readonly most?: number
}

/** True of rules that nothing but their default answers, and that deny. One call tells as much as many. */
function deniesAnyCall({ set: { default: unmatched, rules } }: OwnedRules): boolean {
  return unmatched === 'deny' && rules.every(({ effect }) => effect === 'deny')
}

test.each(Object.keys(COVERED) as (keyof typeof COVERED)[])(
  'a tool is always denied by rules about a %s if and only if each of many calls is denied',
  (kind) => {
    const covered: Covered = COVERED[kind]
    const { parts, values, schema, reports, isRequired = false, most = 3 } = covered
    const name = schema ? 'value' : kind
    const globs = few(parts, most).filter((glob) => glob !== '')
    const about = fc.record({
      effect: fc.constantFrom('deny', 'deny', 'ask', 'allow'),
      tool: fc.constant('*'),
      args: globs.map((glob) => ({ [name]: glob })),
    })
    const covering = fc.array(
      fc.record({
        owner: fc.constant({ kind: 'everybody', id: 'all' }),
        set: fc.record({ default: effects, rules: fc.array(about, { maxLength: 4 }) }),
      }) as fc.Arbitrary<OwnedRules>,
      { minLength: 1, maxLength: 2 },
    )
    const required = isRequired ? [name] : []
    const parameters = { type: 'object', required, ...(schema && { properties: { [name]: schema } }) }
    const runner = reports && ({ kind: 'python', kinds: { [name]: reports } } as const)
    const asked: RuledTool = { name: 'a', classes: ['read'], parameters, runner }
    const readings = readingsOfTool(asked)
    const calls = [...(isRequired ? [] : [{}]), ...values.map((value) => ({ [name]: value }))]
    const seen = { together: 0 }
    fc.assert(
      fc.property(covering, (some) => {
        const tried = some.some(deniesAnyCall) ? calls.slice(0, 1) : calls
        const isDenied = tried.every(
          (given) => decideCall(some, { ...asked, readings }, given).effect === 'deny',
        )
        const found = alwaysDenied(some, asked)
        if (found?.reason.startsWith('Every call')) seen.together += 1
        expect([some, found !== undefined]).toEqual([some, isDenied])
      }),
      { numRuns: 300, seed: 18 },
    )
    // A value that is no text matches every deny, so no two of them are needed.
    if (kind !== 'value') expect(seen.together).toBeGreaterThan(0)
  },
)

type Always = { readonly owned: readonly OwnedRules[]; readonly tool: RuledTool }
type Denied = Omit<RuleDecision, 'reason'> | null

test.each(vectors<Always, Denied>('rules', 'always'))('always denied: $title', ({ input, expected }) => {
  const { reason = '', ...decision } = alwaysDenied(input.owned, input.tool) ?? {}
  expect('effect' in decision ? decision : null).toEqual(expected)
  expect(reason).toMatch(expected ? /^[A-Z].*\.$/ : /^$/)
})

test('rules that would take long to compare deny each call, and hide no tool', () => {
  const asked: RuledTool = { name: 'a', classes: ['read'], parameters: {} }
  const rules = Array.from('abcdefghijkl', (one) => ({
    effect: 'deny',
    tool: 'a',
    args: { path: `*${one}*/**` },
  }))
  const all = [
    ...rules,
    { effect: 'deny', tool: 'a', args: { path: '*' } },
    { effect: 'deny', tool: 'a', args: { path: '*/**' } },
  ]
  const many = set({ rules: all })
  expect(alwaysDenied(set({ rules: all.slice(-2) }), asked)).toBeDefined()
  expect(alwaysDenied(many, asked)).toBeUndefined()
  expect(decideCall(many, asked, { path: 'x/y' }).effect).toBe('deny')
})

test('a comparison of all texts with a glob counts each word of its automaton, for each character', () => {
  const characters = Array.from({ length: 254 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join('')
  let steps = 0
  const take = (more: number): boolean => (steps += more) < 100_000
  const values = valuesOf('text', {}, [{ kind: 'text' }])
  expect(matchedSets(values, [{ glob: `*${characters}`, effect: 'deny' }], { take })).toBeUndefined()
  // Each of the first states needs 8 words for 256 characters.
  expect(steps).toBeLessThan(104_000)
  expect(steps % (8 * 256)).toBeLessThan(10)
})

test('a tool is always denied by a rule without arguments, by one that every text matches, and by a default that nothing answers', () => {
  const asked: RuledTool = { name: 'a', classes: ['read'], parameters: {} }
  const deny = { effect: 'deny', tool: 'a' }
  expect(alwaysDenied(set({ rules: [deny] }), asked)).toMatchObject({ rule: 0 })
  expect(alwaysDenied(set({ rules: [{ ...deny, args: { path: '**' } }] }), asked)).toMatchObject({ rule: 0 })
  expect(alwaysDenied(set({ rules: [{ ...deny, args: { path: '*' } }] }), asked)).toBeUndefined()
  expect(alwaysDenied(set({ rules: [{ ...deny, args: { text: '*' } }] }), asked)).toMatchObject({ rule: 0 })
  expect(alwaysDenied(set({ default: 'deny' }), asked)).toMatchObject({ rule: null })
  const allow = { effect: 'allow', tool: 'a', args: { path: 'src/**' } }
  expect(alwaysDenied(set({ default: 'deny', rules: [allow] }), asked)).toBeUndefined()
})

test('a text of more than 65,536 characters matches a deny and never an allow', () => {
  const asked: RuledTool = { name: 'a', classes: ['read'], parameters: {} }
  const given = { text: 'x'.repeat(65_537) }
  const allow = set({ default: 'ask', rules: [{ effect: 'allow', tool: 'a', args: { text: 'x*' } }] })
  const deny = set({ rules: [{ effect: 'deny', tool: 'a', args: { text: 'y*' } }] })
  expect([allow, deny].map((rules) => decideCall(rules, asked, given).effect)).toEqual(['ask', 'deny'])
})

test('a path of more than 1,024 characters matches a deny and never an allow, and a hostile glob against a long path ends', () => {
  const asked: RuledTool = { name: 'a', classes: ['read'], parameters: {} }
  const given = { path: `src/${'a'.repeat(1_021)}` }
  const allow = set({ default: 'ask', rules: [{ effect: 'allow', tool: 'a', args: { path: 'src/*' } }] })
  const deny = set({ rules: [{ effect: 'deny', tool: 'a', args: { path: '*a'.repeat(127) + 'b' } }] })
  expect([allow, deny].map((rules) => decideCall(rules, asked, given).effect)).toEqual(['ask', 'deny'])
  const shorter = { path: given.path.slice(0, 1_024) }
  expect([allow, deny].map((rules) => decideCall(rules, asked, shorter).effect)).toEqual(['allow', 'allow'])
})

test('paths whose globs would take too many steps match deny and ask and never allow, and the rules of one more owner allow no more', () => {
  const asked: RuledTool = { name: 'a', classes: ['read'], parameters: {} }
  const given = { path: 'a'.repeat(1_024) }
  const owners = Array.from({ length: 6 }, (_, at) => set(hostilePaths('deny', 200 * at))).flat()
  expect(decideCall(owners.slice(0, 5), asked, given).effect).toBe('allow')
  expect(decideCall(owners, asked, given).effect).toBe('deny')
  const allows = [
    ...owners.slice(0, 5),
    ...set({ default: 'deny', rules: [{ effect: 'allow', tool: '*', args: { path: '*a' } }] }),
  ]
  expect(decideCall(allows, asked, given).effect).toBe('allow')
  const late = [...owners.slice(0, 5), ...set(hostilePaths('ask', 1_000)), ...allows.slice(5)]
  expect(decideCall(late, asked, given).effect).toBe('deny')
})

test('a tool whose name would take too many steps with the globs of a rule set is denied, and not allowed', () => {
  const asked: RuledTool = { name: 'a'.repeat(128), classes: ['read'], parameters: {} }
  expect(decideCall(set({ rules: hostileNames('deny') }), asked, {}).effect).toBe('deny')
  expect(decideCall(set({ rules: hostileNames('deny').slice(0, 10) }), asked, {}).effect).toBe('allow')
  expect(decideCall(set({ default: 'deny', rules: hostileNames('allow') }), asked, {}).effect).toBe('deny')
})

test('globs of many characters hide no tool, instead of making the list wait for a minute', () => {
  const rules = Array.from({ length: 200 }, (_, at) => ({
    effect: 'deny',
    tool: '*',
    args: { text: letters(0x4e00 + at * 64) },
  }))
  const asked: RuledTool = { name: 'a', classes: ['read'], parameters: {} }
  const all = [...rules, { effect: 'deny', tool: '*', args: { text: '*a*' } }]
  expect(alwaysDenied(set({ rules: all.slice(1) }), asked)).toBeUndefined()
})

test('many tools with many arguments are compared as long as there is work left for the rules', () => {
  const names = Array.from({ length: 10 }, (_, at) => `text${at}`)
  // Each text matches one of the two globs, so every call is denied; to find that out takes many sets.
  const rules = Array.from({ length: 200 }, (_, at) => ({
    effect: at < 20 ? 'ask' : 'deny',
    tool: '*',
    args: { [names[at % 10] ?? '']: at < 20 ? 'x' : 'y' },
  }))
  const owned = set({ default: 'deny', rules })
  const tools = Array.from({ length: 400 }, (_, at): RuledTool => {
    const properties = Object.fromEntries(names.map((name) => [name, { enum: ['y', `z${at}`] }]))
    return { name: `t${at}`, classes: ['read'], parameters: { properties, required: names } }
  })
  const denied = tools.filter((tool) => alwaysDenied(owned, tool) !== undefined)
  expect(denied.length).toBeGreaterThan(0)
  expect(denied.length).toBeLessThan(tools.length)
  expect(tools.every((tool) => decideCall(owned, tool, { text0: 'y' }).effect === 'deny')).toBe(true)
})

function letters(from: number): string {
  return String.fromCodePoint(...Array.from({ length: 255 }, (_, at) => from + at))
}

function set(value: JsonValue): readonly OwnedRules[] {
  const parsed = parseRuleSet(value)
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults))
  return [{ owner: { kind: 'everybody', id: 'all' }, set: parsed.set }]
}

function hostilePaths(effect: string, start: number) {
  return {
    default: effect === 'allow' ? 'deny' : 'allow',
    rules: Array.from({ length: 200 }, (_, at) => ({
      effect,
      tool: '*',
      args: { path: `*${start + at}*${'a*'.repeat(120)}` },
    })),
  }
}

function hostileNames(effect: string) {
  return Array.from({ length: 40 }, (_, at) => ({ effect, tool: `*?${at}?${'a?*'.repeat(15)}` }))
}
