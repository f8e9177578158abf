import { isToolrackError, type ErrorCode, type ErrorDetail } from '@toolrack/contract'
import type { Log } from '../../log.ts'
import { admitModule, type AdmittedModule } from '../../catalog/definitions/admit-module.ts'
import type { ModuleCheck, Runner } from '../../catalog/definitions/runner.ts'
import type { SchemaCompiler } from '../../catalog/schemas/schema-compilers.ts'

/** The result of a check: a module, the faults of the file, or the reason why nothing was checked. */
export type CheckOutcome =
  { readonly module: AdmittedModule } | { readonly faults: readonly ErrorDetail[] } | NotChecked

/** The reason why nothing was checked. If `isLasting` is true, the check cannot succeed until a person removes the cause. */
export type NotChecked = {
  readonly refusal: string
  readonly isLasting: boolean
  /** Milliseconds until this file is checked again. Set if the reason is one of this file, and not one of the runner. */
  readonly againMs?: number
}

/** Milliseconds until a module is checked again whose packages cannot be had now. The index of packages may be away for long. */
export const PACKAGES_AGAIN_MS = 30_000

export type CheckParts = { readonly runner: Runner; readonly compiler: SchemaCompiler; readonly log: Log }

const NOT_CHECKED: ReadonlySet<ErrorCode> = new Set([
  'RUNNER_UNAVAILABLE',
  'RUNNER_BUSY',
  'SERVICE_BUSY',
  'ISOLATION_UNAVAILABLE',
  'PACKAGES_UNAVAILABLE',
])

/** Checks and admits a file in the same way as an upload. Never rejects. */
export async function checkFile(module: ModuleCheck, parts: CheckParts): Promise<CheckOutcome> {
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
    if (code === 'PACKAGES_UNAVAILABLE')
      return { refusal: message, isLasting: false, againMs: PACKAGES_AGAIN_MS }
    const health = await parts.runner.health()
    // The message of RUNNER_UNAVAILABLE is for a user who uploads a module. The reason of `health` is for the operator.
    const isAway = code === 'RUNNER_UNAVAILABLE' && health.status !== 'ready'
    const isLasting = code === 'ISOLATION_UNAVAILABLE' || health.status === 'absent'
    return { refusal: isAway ? health.reason : message, isLasting }
  }
}
