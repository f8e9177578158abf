import { isToolrackError } from '@toolrack/contract'
import type { ErrorCode, ErrorDetail } from '@toolrack/contract'
import type { ModuleSource, Runner, RunnerHealth } from '../modules/runner.ts'
import type { Log } from '../../log.ts'
import { admitModule } from '../modules/admit-module.ts'
import type { AdmittedModule } from '../modules/admit-module.ts'
import type { SchemaCompiler } from '../schemas/schema-compilers.ts'

/** What came of a check: a module, why it is none, or that the runner has not looked. */
export type CheckOutcome =
  { readonly module: AdmittedModule } | { readonly faults: readonly ErrorDetail[] } | RunnerRefusal

/** `isLasting`: nothing that happens by itself will change that. */
export type RunnerRefusal = { readonly refusal: string; readonly isLasting: boolean }

export type CheckParts = { readonly runner: Runner; readonly compiler: SchemaCompiler; readonly log: Log }

const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'RUNNER_UNAVAILABLE',
  'RUNNER_BUSY',
  'SERVICE_BUSY',
  'ISOLATION_UNAVAILABLE',
])

/** Has a file checked and admitted as an upload is. Never rejects. */
export async function checkFile(module: ModuleSource, parts: CheckParts): Promise<CheckOutcome> {
  try {
    return { module: await admitModule(module, parts) }
  } catch (error) {
    if (!isToolrackError(error)) return failed(error, parts.log)
    const { code, message, details } = error
    if (!REFUSALS.has(code)) return { faults: details.map((detail) => ({ message, ...detail })) }
    return refusalOf(code, message, await parts.runner.health())
  }
}

/** Why a runner that is away looks at nothing, in its own words: those of a refused check are meant for who uploads. */
function refusalOf(code: ErrorCode, message: string, health: RunnerHealth): RunnerRefusal {
  const isAway = code === 'RUNNER_UNAVAILABLE' && health.status !== 'ready'
  return {
    refusal: isAway && typeof health['reason'] === 'string' ? health['reason'] : message,
    isLasting: code === 'ISOLATION_UNAVAILABLE' || health.status === 'absent',
  }
}

function failed(error: unknown, log: Log): CheckOutcome {
  log.error('a module of the folder could not be checked', { reason: (error as Error).stack })
  const message = 'The service failed to check this file; its log has the reason.'
  return { faults: [{ reason: 'INTERNAL', kind: 'not_checked', message }] }
}
