import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { shapeText, typeText } from '../../../../functions/src/http/reference/json-schema-text.ts'

test.each([
  [z.string(), 'text'],
  [z.string().nullable(), 'text or null'],
  [z.boolean(), '`true` or `false`'],
  [z.enum(['asc', 'desc']), '`asc`, `desc`'],
  [z.enum(Array.from({ length: 20 }, (_none, index) => `E${index}`)), 'text'],
  [z.literal('search'), '`search`'],
  [z.int(), 'whole number'],
  [z.int().nonnegative(), 'whole number, from 0'],
  [z.int().min(1).max(5_000), 'whole number, 1 to 5,000'],
  [z.array(z.string()), 'list of texts'],
  [z.array(z.strictObject({ id: z.string() })), 'list of objects'],
  [z.union([z.string(), z.array(z.string())]), 'text or list of texts'],
  [z.record(z.string(), z.json()), 'object'],
  [z.array(z.json()), 'list of JSON values'],
])('the type of a parameter is written in words: %#', (schema, text) => {
  expect(typeText(z.toJSONSchema(schema))).toBe(text)
})

test.each([
  [z.strictObject({ id: z.string(), name: z.string().exactOptional() }), '`{id, name?}`'],
  [z.strictObject({ items: z.array(z.strictObject({ id: z.string() })) }), '`{items: [{id}]}`'],
  [z.union([z.strictObject({ id: z.string() }), z.strictObject({ no: z.int() })]), '`{id}` or `{no}`'],
  [z.literal(''), 'no body'],
  [z.string(), 'text'],
])('the form of an answer is the names of its fields: %#', (schema, text) => {
  expect(shapeText(z.toJSONSchema(schema))).toBe(text)
})
