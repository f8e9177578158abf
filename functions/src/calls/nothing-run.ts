import type { ErrorCode } from '@toolrack/contract'
import type { CallOutcome } from './call.ts'

/**
 * Codes of failures that happen before the runner has run anything. If the runner has measured usage, the tool has run
 * nevertheless.
 */
const NOTHING_RUN: ReadonlySet<ErrorCode> = new Set([
  'RUNNER_UNAVAILABLE',
  'RUNNER_BUSY',
  'LIMIT_EXCEEDED',
  'TOOL_UNAVAILABLE',
  'SERVICE_BUSY',
  'ISOLATION_UNAVAILABLE',
  'STORE_BUSY',
  'STORE_FULL',
  'STORE_FAILED',
  'AUDIT_UNAVAILABLE',
  'LAYER_UNAVAILABLE',
  'TOOL_NOT_FOUND',
  'PERMISSION_DENIED',
  'DIGEST_CHANGED',
  'ARGUMENTS_INVALID',
  'GRANTS_PENDING',
  'SECRET_MISSING',
  'KIND_NOT_SERVED',
  'RUNS_AT_CLIENT',
  'CANCELLED',
])

/**
 * True if the tool has certainly not begun to run. Then the call's idempotency key is free again, and its approval can be used
 * again.
 */
export function hasRunNothing({ result, usage, mayHaveRun }: CallOutcome): boolean {
  // The runner measures the usage only of what it has run.
  if (result.resultType === 'success' || usage !== null || mayHaveRun) return false
  return NOTHING_RUN.has(result.code) || result.code.startsWith('APPROVAL_')
}
