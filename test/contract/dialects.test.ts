import { expect, test } from '@jest/globals'
import {
  aliasOf,
  CONVERSIONS,
  dialectRules,
  DIALECTS,
  inDialect,
  isToolName,
  nameIn,
} from '@toolrack/contract'
import type { Dialect, JsonObject, ToolDefinition } from '@toolrack/contract'
import fc from 'fast-check'
import { vectors } from '../support/vectors.ts'

type Input = Pick<ToolDefinition, 'function' | 'annotations'>
type Expected = { readonly [D in Dialect]?: JsonObject }

const cases = vectors<Input, Expected>('dialects')

test.each(cases)('dialects: $title', ({ input, expected }) => {
  const dialects = DIALECTS.filter((dialect) => expected[dialect])
  expect(Object.keys(expected).toSorted()).toEqual(dialects.toSorted())
  for (const dialect of dialects) {
    const converted = inDialect({ type: 'function', ...input }, dialectRules(dialect))
    expect(JSON.stringify(converted, null, 1)).toBe(JSON.stringify(expected[dialect], null, 1))
  }
})

test('the vectors show each conversion of each dialect that there is', () => {
  const shown = DIALECTS.map((dialect) => [
    dialect,
    CONVERSIONS.filter((conversion) =>
      cases.some(({ expected }) => expected[dialect]?.['conversion'] === conversion),
    ),
  ])
  const loose = ['full', 'rewritten', 'quarantined']
  expect(Object.fromEntries(shown)).toEqual({
    openai: loose,
    'openai-responses': loose,
    'openai-strict': CONVERSIONS,
    anthropic: loose,
    gemini: loose,
    mcp: loose,
  })
})

const definition = (name: string, parameters: JsonObject = {}): ToolDefinition => ({
  type: 'function',
  function: { name, description: 'D.', parameters },
})
const gemini = (parameters: JsonObject) => inDialect(definition('a', parameters), dialectRules('gemini'))

/** What each vendor says of a name. */
const NAMES: Readonly<Record<Dialect, RegExp>> = {
  openai: /^[A-Za-z0-9_-]{1,64}$/,
  'openai-responses': /^[A-Za-z0-9_-]{1,64}$/,
  'openai-strict': /^[A-Za-z0-9_-]{1,64}$/,
  anthropic: /^[A-Za-z0-9_-]{1,64}$/,
  gemini: /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/,
  mcp: /^[A-Za-z0-9_.-]{1,128}$/,
}
const FIRST = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_'.split('')
const LATER = [...FIRST, ...'0123456789.:-'.split('')]

test('a tool named with each character that the grammar allows has a name in every dialect', () => {
  const names = [...FIRST, ...LATER.map((char) => `a${char}`), ...LATER.map((char) => `a${char}b`)]
  const long = LATER.map((char) => `a${char.repeat(127)}`)
  for (const name of [...names, ...long].filter(isToolName)) {
    for (const dialect of DIALECTS) {
      const { conversion } = inDialect(definition(name), dialectRules(dialect))
      expect([name, dialect, conversion]).not.toContain('quarantined')
      expect(nameIn(dialectRules(dialect), name)).toMatch(NAMES[dialect])
    }
  }
})

test('Gemini takes every name as it is, and every other dialect its alias', () => {
  const names = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/)
  fc.assert(
    fc.property(names, fc.constantFrom(...DIALECTS), (name, dialect) => {
      expect(nameIn(dialectRules(dialect), name)).toBe(dialect === 'gemini' ? name : aliasOf(name))
      expect(nameIn(dialectRules(dialect), name)).toMatch(NAMES[dialect])
    }),
  )
})

test('references that would be written out without end or beyond bounds are quarantined, and end', () => {
  const root = { type: 'object', properties: { a: { $ref: '#' } } }
  expect(gemini(root)).toMatchObject({
    conversion: 'quarantined',
    pointer: '/function/parameters/properties/a/$ref',
  })
  expect(
    gemini({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }),
  ).toMatchObject({ reason: expect.stringMatching(/leads back/) })
  expect(gemini({ properties: { a: { $ref: '#/$defs/none' } } })).toMatchObject({
    reason: expect.stringMatching(/leads to no schema/),
  })
  const properties = Object.fromEntries(
    Array.from({ length: 400 }, (_, index) => [`p${index}`, { $ref: '#/$defs/large' }]),
  )
  const large = { type: 'string', description: 'x'.repeat(16_000) }
  expect(gemini({ type: 'object', properties, $defs: { large } })).toMatchObject({
    conversion: 'quarantined',
    reason: expect.stringMatching(/more than 131072 bytes/),
  })
})

test.each(['openai', 'anthropic'] as const)('a chain of references at the root ends for %s', (dialect) => {
  const parameters = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }
  expect(inDialect(definition('a', parameters), dialectRules(dialect))).toMatchObject({
    conversion: 'quarantined',
    pointer: '/function/parameters/$ref',
  })
})

test('a definition is never changed by being converted', () => {
  const frozen = deepFrozen({ type: 'function', ...cases[3]?.input } as ToolDefinition)
  for (const dialect of DIALECTS) expect(() => inDialect(frozen, dialectRules(dialect))).not.toThrow()
})

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFrozen)
  return Object.freeze(value)
}
