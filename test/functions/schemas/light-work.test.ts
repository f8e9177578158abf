import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { areLightArguments, isLightDefinition } from '../../../functions/src/schemas/light-work.ts'
import { tool } from '../../support/definition-changes.ts'

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
  expect(isLightDefinition(textOf(parameters))).toBe(true)
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
  expect(isLightDefinition(textOf(parameters))).toBe(false)
})

test('arguments are light as long as they are few and short beside their definition', () => {
  const text = textOf({ properties: { a: { type: 'string' } } })
  const room = Math.floor(2_000_000 / text.length)
  expect(areLightArguments({ a: 'x'.repeat(room - 100) }, text)).toBe(true)
  expect(areLightArguments({ a: 'x'.repeat(room) }, text)).toBe(false)
  expect(areLightArguments({ a: Array.from({ length: room / 8 }, () => null) }, text)).toBe(false)
  expect(areLightArguments({ a: { ['k'.repeat(room)]: 1 } }, text)).toBe(false)
  expect(areLightArguments({ a: [[1, { b: 'x' }]] }, `${text}${' '.repeat(100_000)}`)).toBe(false)
})
