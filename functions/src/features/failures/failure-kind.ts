import type { ErrorCode, FailureKind } from '@toolrack/contract'
import type { CallOutcome } from '../../calls/call.ts'

/**
 * The failures of a tool or of its runner, by their code. Other failures are no failures of the tool: the caller has made a
 * mistake, may not make the call, or has left. RUNNER_BUSY and SERVICE_BUSY are not here, because retries would add to the load.
 */
const KINDS: ReadonlyMap<ErrorCode, FailureKind> = new Map<ErrorCode, FailureKind>([
  ['DEADLINE_EXCEEDED', 'timeout'],
  ['RUNNER_UNAVAILABLE', 'network'],
  ['TOOL_RAISED', 'generic'],
  ['TOOL_CRASHED', 'generic'],
  ['TOOL_UNAVAILABLE', 'generic'],
  ['WORKER_DIED', 'generic'],
  ['MODULE_BROKEN', 'generic'],
  ['PACKAGES_UNAVAILABLE', 'generic'],
  ['MEMORY_LIMIT', 'generic'],
  ['CPU_LIMIT', 'generic'],
  ['DISK_LIMIT', 'generic'],
  ['RESULT_INVALID', 'generic'],
  ['RESULT_TOO_LARGE', 'generic'],
])

/** The kind of a failure of the tool. Undefined for a success, and for a failure that is not the tool's. */
export function failureKindOf({ result, failureKind }: CallOutcome): FailureKind | undefined {
  if (result.resultType === 'success') return undefined
  const kind = KINDS.get(result.code)
  return kind === 'generic' ? (failureKind ?? kind) : kind
}
