import { toolFailure, ToolrackError } from '@toolrack/contract'
import type { ArgumentValidator } from '../../catalog/schemas/argument-validator.ts'
import { auditCall, auditStart, noteStart } from '../../features/audit/audit-call.ts'
import type { AuditTrail } from '../../features/audit/audit-trail.ts'
import { atMostOnce, type OnceParts } from '../../features/once/at-most-once.ts'
import { awaitApproval, takeEditedArguments } from '../../features/approvals/approval-steps.ts'
import { authoriseCall, type AuthoriseParts } from '../../features/rules/authorise.ts'
import type { Authorised, CallOutcome, CallRequest, Received, Requested, Resolved } from './call.ts'
import { makeArgumentsCanonical } from './canonical-arguments.ts'
import { endDryRun, type DryRunParts } from '../../features/calling/dry-run.ts'
import { keepCall, type KeepParts } from './keep-call.ts'
import { Onion, type Next, type Step, type StepFailures } from './onion.ts'
import { resolveTool, type ResolveParts } from './resolve-tool.ts'
import { refuseToRun, RESULT_BYTES_MAX, runTool, type RunParts } from './run-tool.ts'

export type StepParts = DecideParts &
  KeepParts &
  RunParts &
  OnceParts & {
    readonly showCall?: ShowCall | undefined
    readonly audit?: AuditTrail | undefined
  }

/** Shows a call that has ended to the operator, with the milliseconds that it took. It must not wait for anything. */
export type ShowCall = (outcome: CallOutcome, tookMs: number) => void

/** The steps of one call, from the outside in. Each wraps the steps below it. */
export function callSteps(parts: StepParts, failures: StepFailures): Next<Received> {
  return runningSteps(decidingSteps(keepingSteps(parts, failures), parts), parts)
}

/** The steps that see every call, whatever becomes of it. */
function keepingSteps(parts: StepParts, failures: StepFailures): Onion<Received> {
  const onion = Onion.withoutSteps(failures)
  const shown = parts.showCall ? onion.step('show the call', show(parts.showCall)) : onion
  const audited = parts.audit ? shown.step('audit the call', auditCall(parts.audit)) : shown
  return audited.step('keep the call', keepCall(parts))
}

export type DecideParts = ResolveParts &
  AuthoriseParts &
  DryRunParts & { readonly validator: ArgumentValidator }

/** The steps that decide whether a call may run. They change nothing, so that a simulation takes the same. */
export function decidingSteps(onion: Onion<Received>, parts: DecideParts): Onion<Authorised> {
  return onion
    .step('read the request', readRequest)
    .step('resolve the tool', resolveTool(parts))
    .step('make the arguments canonical', makeArgumentsCanonical)
    .step('take edited arguments', takeEditedArguments(parts))
    .step('authorise the call', authoriseCall(parts))
    .step('validate the arguments', validateArguments<Authorised>(parts))
}

/** The steps of a call that has been decided about. */
function runningSteps(decided: Onion<Authorised>, parts: StepParts): Next<Received> {
  const checked = decided
    .step('end a dry run', endDryRun(parts))
    .step('run at most once', atMostOnce<Authorised>(parts))
    .step('await the approval', awaitApproval(parts))
  const { audit } = parts
  const recorded = audit?.isRequired ? checked.step('record the start', auditStart(audit)) : checked
  const run = runTool(parts)
  return recorded
    .step('bound the result', boundResult)
    .run('run the tool', audit && !audit.isRequired ? noteStart(audit, run) : run)
}

/** Shows every call when it has ended, also a call that was refused. */
export function show(showCall: ShowCall): Step<Received> {
  return async (call, next) => {
    const startedMs = performance.now()
    const outcome = await next(call)
    showCall(outcome, performance.now() - startedMs)
    return outcome
  }
}

/** Reads the request. If the request is not valid, the call ends here. */
export const readRequest: Step<Received, Requested> = (call, next) => {
  const proceed = (request: CallRequest): Promise<CallOutcome> => next({ ...call, request })
  const request = call.read()
  // The request of a dispatched call is not a promise. An `await` would take a tenth of a warm call's time.
  return request instanceof Promise ? request.then(proceed) : proceed(request)
}

/**
 * Checks the arguments if the service runs the tool, and refuses what its definition does not let the service run. So nobody is
 * asked about a call that cannot run.
 */
export function validateArguments<Call extends Resolved>({
  validator,
}: Pick<StepParts, 'validator'>): Step<Call> {
  return async (call, next) => {
    const { entry, request, principal, signal } = call
    if (entry.callable === 'service') {
      const asker = { user: principal.uid, signal }
      const { faults } = await validator.validate(entry.stored, request.arguments, asker)
      if (faults.length > 0)
        throw new ToolrackError('ARGUMENTS_INVALID', `${entry.name}: ${faults.join(' ')}`)
    }
    refuseToRun(call)
    return next(call)
  }
}

/** Turns a result above the limit into a failure. Only a built-in tool can have one, because the runner knows the limit. */
export const boundResult: Step<Resolved> = async (call, next) => {
  const outcome = await next(call)
  const { resultType, textResultForLlm: text } = outcome.result
  // One UTF-16 code unit becomes at most three bytes, so the bytes of most texts need not be counted.
  if (resultType === 'failure' || text.length * 3 <= RESULT_BYTES_MAX) return outcome
  const bytes = Buffer.byteLength(text)
  if (bytes <= RESULT_BYTES_MAX) return outcome
  const error = `The result of ${call.entry.name} has ${bytes} bytes, and ${RESULT_BYTES_MAX} are allowed; ask for less.`
  return { ...outcome, result: toolFailure('RESULT_TOO_LARGE', error) }
}
