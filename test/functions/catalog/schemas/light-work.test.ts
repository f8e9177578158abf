import { expect, test } from '@jest/globals'
import type { JsonObject, JsonValue } from '@toolrack/contract'
import { lightArguments, lightDefinition } from '../../../../functions/src/catalog/schemas/light-work.ts'
import { newCompiler } from '../../../../functions/src/catalog/schemas/schema-draft.ts'
import { tool } from '../../../support/definition-changes.ts'

function textOf(parameters: JsonObject): string {
  const small = tool('t')
  return JSON.stringify({ ...small, function: { ...small.function, parameters } })
}

test.each<JsonObject>([
  {},
  { type: 'object', properties: { a: { type: 'string', maxLength: 3 } }, required: ['a'] },
  { properties: { a: { enum: ['x', 1, null] }, b: { anyOf: [{ const: 1 }, { type: 'array', items: {} }] } } },
  { properties: { a: { type: 'object', additionalProperties: { type: 'integer', minimum: 1 } } } },
])('%j is light', (parameters) => {
  expect(lightDefinition(textOf(parameters))).toBeDefined()
})

test.each<JsonObject>([
  { properties: { a: { uniqueItems: true } } },
  { properties: { a: { $ref: '#' } } },
  { properties: { a: { pattern: 'x' } } },
  { patternProperties: { x: {} } },
  { properties: { a: { items: { contains: {} } } } },
  { allOf: [{ unevaluatedProperties: false }] },
  { properties: { a: { enum: [{ x: 1 }] } } },
  { properties: { a: { const: [1] } } },
  { properties: { a: { what: 'nobody knows' } } },
  { properties: { a: { description: 'long '.repeat(1_000) } } },
])('%j is not', (parameters) => {
  expect(lightDefinition(textOf(parameters))).toBeUndefined()
})

test('arguments are light as long as they are few and short beside their definition', () => {
  const text = textOf({ properties: { a: { type: 'string' } } })
  const light = { characters: text.length, weight: 4 }
  expect(lightDefinition(text)).toEqual(light)
  const room = Math.floor(2_000_000 / text.length)
  expect(lightArguments({ a: 'x'.repeat(room - 100) }, light)).toBe(2)
  expect(lightArguments({ a: 'x'.repeat(room) }, light)).toBeUndefined()
  expect(lightArguments({ a: Array.from({ length: room / 8 }, () => null) }, light)).toBeUndefined()
  expect(lightArguments({ a: { ['k'.repeat(room)]: 1 } }, light)).toBeUndefined()
  expect(lightArguments({ a: [[1, { b: 'x' }]] }, { ...light, characters: 100_000 })).toBeUndefined()
})

test('arguments that could be found fault with very often are not light, however short', () => {
  const manyValues = { a: Array.from({ length: 97 }, () => 1) }
  expect(lightArguments(manyValues, { characters: 100, weight: 202 })).toBe(99)
  expect(lightArguments(manyValues, { characters: 100, weight: 203 })).toBeUndefined()
  expect(
    lightArguments({ a: Array.from({ length: 200_000 }, () => 1) }, { characters: 1, weight: 1 }),
  ).toBeUndefined()
})

const times = (length: number, of: (index: number) => JsonValue): JsonValue[] =>
  Array.from({ length }, (_, index) => of(index))
/** Schemas of which each part finds fault with each of its values. */
const FAULT_FINDING: readonly (readonly [string, (length: number) => JsonObject, JsonValue])[] = [
  ['anyOf of false', (length) => ({ anyOf: times(length, () => false) }), 1],
  ['oneOf', (length) => ({ oneOf: times(length, () => ({ type: 'null' })) }), 1],
  ['allOf', (length) => ({ allOf: times(length, () => ({ type: 'null', enum: ['x'] })) }), 1],
  ['anyOf in anyOf', (length) => ({ anyOf: times(length, () => ({ anyOf: [false, false] })) }), 1],
  ['required', (length) => ({ required: times(length, (index) => `r${index}`) }), {}],
  [
    'additionalProperties',
    (length) => ({ allOf: times(length, () => ({ additionalProperties: false })) }),
    { a: 1, b: 2 },
  ],
  ['not', (length) => ({ allOf: times(length, () => ({ not: {} })) }), 'x'],
]

test.each(FAULT_FINDING)(
  'as many arguments as are light have at most 20,000 errors: %s',
  (_title, schemaOf, value) => {
    const listOf = (length: number): JsonObject => ({ l: times(length, () => value) })
    const most: number[] = []
    for (const length of [5, 60, 150, 250]) {
      const parameters = { properties: { l: { items: schemaOf(length) } } }
      const light = lightDefinition(textOf(parameters))
      if (!light) continue
      let size = 0
      for (let step = 16_384; step >= 1; step /= 2)
        if (lightArguments(listOf(size + step), light) !== undefined) size += step
      const validate = newCompiler('2020-12', { allErrors: true }).compile(parameters)
      validate(listOf(size))
      most.push(validate.errors?.length ?? 0)
    }
    expect(Math.max(...most)).toBeGreaterThan(1_000)
    expect(Math.max(...most)).toBeLessThanOrEqual(20_000)
  },
)
