import type { SchemaCase } from './schema-cases.ts'

/** What a fuzzer or a person has found once. Each is tried before anything else, whatever the seed. */
export const PAST_FINDINGS: readonly SchemaCase[] = []
