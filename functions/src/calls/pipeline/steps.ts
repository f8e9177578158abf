import { toolFailure, ToolrackError } from '@toolrack/contract'
import type { ArgumentValidator } from '../../catalog/schemas/argument-validator.ts'
import type { Authorised, CallOutcome, Received, Requested, Resolved } from '../call.ts'
import { makeArgumentsCanonical } from '../canonical-arguments.ts'
import { Onion, type Next, type Step, type StepFailures } from '../onion.ts'
import { keepCall, type KeepParts } from './keep-call.ts'
import { resolveTool, type ResolveParts } from './resolve-tool.ts'
import { faultWithoutSecrets, refuseToRun, RESULT_BYTES_MAX, runTool, type RunParts } from './run-tool.ts'

export type StepParts = DecideParts &
  KeepParts &
  RunParts & {
    readonly steps: FeatureSteps
    readonly showCall?: ShowCall | undefined
  }

/** Shows a call that has ended to the operator, with the milliseconds that it took. It must not wait for anything. */
export type ShowCall = (outcome: CallOutcome, tookMs: number) => void

/** Those steps of features that decide whether a call may run. They change nothing. */
export type DecidingSteps = {
  /** Runs inside of the step 'resolve the tool', so that a call of a tool without secrets does not wait for one more step. */
  readonly 'load the secrets'?: Step<Resolved> | undefined
  readonly 'take edited arguments': Step<Resolved>
  readonly 'authorise the call': Step<Resolved, Authorised>
  /** Refuses a call that is above a limit. A dry run and a simulation pass it, and count nothing. */
  readonly 'limit the calls'?: Step<Authorised> | undefined
}

/**
 * The steps of features. The name of a step is its slot in the functions below, which order the steps. A slot with `?` may be
 * empty.
 */
export type FeatureSteps = DecidingSteps & {
  readonly 'audit the call'?: Step<Received> | undefined
  readonly 'end a dry run': Step<Authorised>
  readonly 'run at most once': Step<Authorised>
  /** Calls the fallback of a tool for a call that names the approval of the fallback. Then the tool itself is not run. */
  readonly 'resume a fallback'?: Step<Authorised> | undefined
  readonly 'await the approval': Step<Authorised>
  readonly 'record the start'?: Step<Authorised> | undefined
  /** Calls the tool or another one again after a failure. Each such call is a call of the whole pipeline. */
  readonly 'follow the failure strategy'?: Step<Authorised> | undefined
  /** Refuses a call of a tool that has failed several times in a row. */
  readonly 'break the circuit'?: Step<Authorised> | undefined
  /** Loads the artifacts that the arguments name, and keeps images, files and large texts of the result. */
  readonly 'keep the content'?: Step<Authorised> | undefined
}

/** The steps of one call, from the outside in. Each step wraps the steps below it. */
export function callSteps(parts: StepParts, failures: StepFailures): Next<Received> {
  return runningSteps(decidingSteps(keepingSteps(parts, failures), parts), parts)
}

/** The steps that see every call, also a call that is refused. */
function keepingSteps(parts: StepParts, failures: StepFailures): Onion<Received> {
  const { steps, showCall } = parts
  return Onion.withoutSteps(failures)
    .optional('show the call', showCall && show(showCall))
    .optional('audit the call', steps['audit the call'])
    .step('keep the call', keepCall(parts))
}

export type DecideParts = ResolveParts & {
  readonly validator: ArgumentValidator
  readonly steps: DecidingSteps
}

/** The steps that decide whether a call may run. They change nothing, so that a simulation can take the same steps. */
export function decidingSteps(onion: Onion<Received>, parts: DecideParts): Onion<Authorised> {
  const { steps } = parts
  return onion
    .step('read the request', readRequest)
    .step('resolve the tool', within(resolveTool(parts), steps['load the secrets']))
    .step('make the arguments canonical', makeArgumentsCanonical)
    .step('take edited arguments', steps['take edited arguments'])
    .step('authorise the call', steps['authorise the call'])
    .optional('limit the calls', steps['limit the calls'])
    .step('validate the arguments', validateArguments<Authorised>(parts))
}

/** Both steps as one. */
function within<Call extends Received, Found extends Received>(
  outer: Step<Call, Found>,
  inner: Step<Found> | undefined,
): Step<Call, Found> {
  return inner ? (call, next) => outer(call, (found) => inner(found, next)) : outer
}

/** The steps after the decision about a call. */
function runningSteps(decided: Onion<Authorised>, parts: StepParts): Next<Received> {
  const { steps } = parts
  return decided
    .step('end a dry run', steps['end a dry run'])
    .step('run at most once', steps['run at most once'])
    .optional('resume a fallback', steps['resume a fallback'])
    .step('await the approval', steps['await the approval'])
    .optional('record the start', steps['record the start'])
    .optional('follow the failure strategy', steps['follow the failure strategy'])
    .optional('break the circuit', steps['break the circuit'])
    .optional('keep the content', steps['keep the content'])
    .step('bound the result', boundResult<Authorised>)
    .run('run the tool', runTool(parts))
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

/** Reads the request. If the request is not valid, the call ends here. The deadline does not count how long its sender took. */
export const readRequest: Step<Received, Requested> = async (call, next) => {
  const request = await call.read()
  return next({ ...call, request, readAtMs: performance.now() })
}

/**
 * Checks the arguments of a tool that the service runs. Refuses a tool that its definition does not let the service run. This
 * step comes before the approval, so nobody is asked to approve a call that cannot run.
 */
export function validateArguments<Call extends Resolved>({
  validator,
}: Pick<StepParts, 'validator'>): Step<Call> {
  return async (call, next) => {
    const { entry, request, principal, signal, secrets } = call
    if (entry.callable === 'service') {
      const asker = { user: principal.uid, signal }
      const { faults } = await validator.validate(entry.stored, request.arguments, asker)
      if (faults.length > 0) {
        // Without its secrets, a call cannot say which parts of a fault are secret.
        if (secrets?.refusal) refuseToRun(call)
        const text = faults.join(' ')
        const shown = secrets ? await faultWithoutSecrets(text, secrets.stored, signal) : text
        throw new ToolrackError('ARGUMENTS_INVALID', `${entry.name}: ${shown}`)
      }
    }
    refuseToRun(call)
    return next(call)
  }
}

/**
 * Turns a result above the limit into a failure. Only built-in tools need this step, because the runner itself refuses such a
 * result of a Python tool.
 */
export async function boundResult<Call extends Resolved>(call: Call, next: Next<Call>): Promise<CallOutcome> {
  const outcome = await next(call)
  const { resultType, textResultForLlm: text } = outcome.result
  const { resultBytesMax = RESULT_BYTES_MAX } = call
  // One UTF-16 code unit becomes at most three bytes, so the bytes of most texts need not be counted.
  if (resultType === 'failure' || text.length * 3 <= resultBytesMax) return outcome
  const bytes = Buffer.byteLength(text)
  if (bytes <= resultBytesMax) return outcome
  const error = `The result of ${call.entry.name} has ${bytes} bytes, and ${resultBytesMax} are allowed; ask for less.`
  return { ...outcome, result: toolFailure('RESULT_TOO_LARGE', error) }
}
