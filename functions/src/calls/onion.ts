import { isToolrackError, toolFailure } from '@toolrack/contract'
import { inspect } from 'node:util'
import type { Log, LogFields } from '../log.ts'
import { outcomeOf, type Known, type CallOutcome, type Received } from './call.ts'
import { outcomeOfRefusal } from './refused-call.ts'

/** Runs the steps inside a step. It never rejects: errors become outcomes too. */
export type Next<Call> = (call: Call) => Promise<CallOutcome>

/**
 * One step of a call. It wraps the inner steps, which it starts with `next`, at most once.
 *
 * - To refuse the call, it throws a ToolrackError before `next`, or returns an outcome without `next`.
 * - To add a fact for the inner steps, it gives `next` a call with this fact.
 * - To close something, or to see how the call ended, it awaits `next`, which always resolves.
 *
 * An error that a step throws after `next` is logged and counted. The caller gets the outcome of `next`.
 */
export type Step<Call extends Received, Inner extends Received = Call> = (
  call: Call,
  next: Next<Inner>,
) => Promise<CallOutcome>

/** Receives the errors that do not reach the caller. */
export type StepFailures = {
  readonly log: Log
  /** Called for each step that failed after `next`. */
  readonly countAfterNext: () => void
}

/**
 * The nested steps of a call, added from the outside in. `Call` is a call with the facts that the steps so far have added, so
 * each step can read only facts of outer steps.
 */
export class Onion<Call extends Received> {
  readonly #failures: StepFailures
  readonly #around: (rest: Rest<Call>) => Rest<Received>

  private constructor(failures: StepFailures, around: (rest: Rest<Call>) => Rest<Received>) {
    this.#failures = failures
    this.#around = around
  }

  static withoutSteps(failures: StepFailures): Onion<Received> {
    return new Onion(failures, (rest) => rest)
  }

  /** Adds a step inside all others. The name is for the log. */
  step<Inner extends Received>(name: string, step: Step<Call, Inner>): Onion<Inner> {
    return new Onion(this.#failures, (rest) => this.#around(guarded(name, step, rest, this.#failures)))
  }

  /** Adds a step like the method `step`, or adds nothing if `step` is undefined. */
  optional(name: string, step: Step<Call> | undefined): Onion<Call> {
    return step ? this.step(name, step) : this
  }

  /** Adds the innermost step, which runs the tool. Returns the function that runs a call. */
  run(name: string, run: Next<Call>): Next<Received> {
    const take = this.#around(guarded(name, run, nothing, this.#failures))
    return (call) => take(call, { count: 0 })
  }
}

/**
 * How many steps of one call are open, one inside the other. If `count` is below n, step n has ended. If `count` is above n, a
 * step inside step n is still running.
 */
type Open = { count: number }

type Rest<Call> = (call: Call, open: Open) => Promise<CallOutcome>

/** A step together with its inner steps. The function never rejects, and never resolves before the inner steps have ended. */
function guarded<Call extends Received, Inner extends Received>(
  name: string,
  step: Step<Call, Inner>,
  rest: Rest<Inner>,
  failures: StepFailures,
): Rest<Call> {
  return function take(call, open) {
    open.count += 1
    const depth = open.count
    let inside: Promise<CallOutcome> | undefined

    function next(inner: Inner): Promise<CallOutcome> {
      if (inside || open.count < depth)
        throw new Error(`the step '${name}' may call next once, and not after its end`)
      inside = rest(inner, open)
      return inside
    }
    function finish(outcome: CallOutcome): CallOutcome | Promise<CallOutcome> {
      if (inside && open.count > depth) return inside.then(() => finish(outcome))
      open.count = depth - 1
      return outcome
    }
    function finishFailed(error: unknown): CallOutcome | Promise<CallOutcome> {
      if (!inside) return finish(outcomeOfError(error, call, name, failures))
      failures.countAfterNext()
      failures.log.error('step failed after the call; its outcome is unchanged', fieldsOf(error, call, name))
      return inside.then(finish)
    }
    // Not an async function: an async function for each step would increase the processor time of a warm call by a third.
    try {
      return step(call, next).then(finish, finishFailed)
    } catch (error) {
      return Promise.resolve(finishFailed(error))
    }
  }
}

const FAILED = 'The service failed; its log has the reason under the invocationId.'

/** The outcome of a step that threw before `next`. An unexpected error is logged, and the model gets INTERNAL. */
function outcomeOfError(thrown: unknown, call: Known, step: string, { log }: StepFailures): CallOutcome {
  if (isToolrackError(thrown)) return outcomeOfRefusal(call, thrown)
  log.error('call failed', fieldsOf(thrown, call, step))
  return outcomeOf(call, toolFailure('INTERNAL', FAILED))
}

function fieldsOf(thrown: unknown, { invocationId, headers }: Known, step: string): LogFields {
  const { traceparent } = headers
  return { invocationId, ...(traceparent !== undefined && { traceparent }), step, error: inspect(thrown) }
}

function nothing(): Promise<never> {
  throw new Error('the innermost step has no next')
}
