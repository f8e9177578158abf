import type { JsonObject } from '@toolrack/contract'
import type { SchemaCase } from './schema-cases.ts'

const inList = (items: JsonObject): JsonObject => ({
  type: 'object',
  properties: { l: { type: 'array', items } },
})

/** What a fuzzer or a person has found once, and what lies on both sides of a bound. Each is tried first, whatever the seed. */
export const PAST_FINDINGS: readonly SchemaCase[] = [
  // Ajv that stops at the first error overlooks a required name that is empty.
  {
    parameters: { type: 'object', properties: { a: { anyOf: [{ type: 'object', required: [''] }] } } },
    argumentLists: [{ a: { b: 1 } }, { a: { '': 1 } }, { a: 1 }],
  },
  // Little work, and more work than the service does itself.
  {
    parameters: { type: 'object', properties: { a: { type: 'string', maxLength: 9 } } },
    argumentLists: [{ a: 'x'.repeat(5_000) }, { a: 'x'.repeat(40_000) }],
  },
  // Few errors, and more errors than the service collects itself.
  {
    parameters: inList({ anyOf: Array.from({ length: 100 }, () => false) }),
    argumentLists: [{ l: Array.from({ length: 150 }, () => 1) }, { l: Array.from({ length: 250 }, () => 1) }],
  },
  // A keyword that only RE2 cannot run, below one that refuses where it admits.
  {
    parameters: { type: 'object', properties: { a: { not: { pattern: '(?=x)' } }, b: { maxLength: 1 } } },
    argumentLists: [{ a: 'a' }, { b: 'ab' }, { a: 'x', b: 'b' }],
  },
]
