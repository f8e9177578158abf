import type { SchemaCase } from './schema-cases.ts'

/** What a fuzzer or a person has found once. Each is tried before anything else, whatever the seed. */
export const PAST_FINDINGS: readonly SchemaCase[] = [
  // Ajv that stops at the first error overlooks a required name that is empty.
  {
    parameters: { type: 'object', properties: { a: { anyOf: [{ type: 'object', required: [''] }] } } },
    argumentLists: [{ a: { b: 1 } }, { a: { '': 1 } }, { a: 1 }],
  },
]
