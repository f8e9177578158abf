import type { FuzzedRequest } from './fuzzed-request.ts'

/** What a fuzzer or a person has found once. Each is tried before anything else, whatever the seed. */
export const PAST_FINDINGS: readonly FuzzedRequest[] = []
