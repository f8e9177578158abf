import { isToolrackError, type ErrorCode, type ErrorDetail } from '@toolrack/contract'
import type { Log } from '../../log.ts'
import { admitModule, type AdmittedModule } from '../../catalog/definitions/admit-module.ts'
import type { ModuleSource, Runner } from '../../catalog/definitions/runner.ts'
import type { SchemaCompiler } from '../../catalog/schemas/schema-compilers.ts'

/** The result of a check: a module, the faults of the file, or the reason why nothing was checked. */
export type CheckOutcome =
  { readonly module: AdmittedModule } | { readonly faults: readonly ErrorDetail[] } | NotChecked

/** The reason why nothing was checked. If `isLasting` is true, the check cannot succeed until a person removes the cause. */
export type NotChecked = { readonly refusal: string; readonly isLasting: boolean }

export type CheckParts = { readonly runner: Runner; readonly compiler: SchemaCompiler; readonly log: Log }

const NOT_CHECKED: ReadonlySet<ErrorCode> = new Set([
  'RUNNER_UNAVAILABLE',
  'RUNNER_BUSY',
  'SERVICE_BUSY',
  'ISOLATION_UNAVAILABLE',
])

/** Checks and admits a file in the same way as an upload. Never rejects. */
export async function checkFile(module: ModuleSource, parts: CheckParts): Promise<CheckOutcome> {
  try {
    return { module: await admitModule(module, parts) }
  } catch (error) {
    if (!isToolrackError(error)) {
      parts.log.error('a module of the folder could not be checked', { reason: (error as Error).stack })
      const message = 'The service failed to check this file; its log has the reason.'
      return { faults: [{ reason: 'INTERNAL', kind: 'not_checked', message }] }
    }
    const { code, message, details } = error
    if (!NOT_CHECKED.has(code)) return { faults: details.map((detail) => ({ message, ...detail })) }
    const health = await parts.runner.health()
    // The message of RUNNER_UNAVAILABLE is for a user who uploads a module. The reason of `health` is for the operator.
    const isAway = code === 'RUNNER_UNAVAILABLE' && health.status !== 'ready'
    const isLasting = code === 'ISOLATION_UNAVAILABLE' || health.status === 'absent'
    return { refusal: isAway ? health.reason : message, isLasting }
  }
}
