import { isToolrackError, toolFailure } from '@toolrack/contract'
import { inspect } from 'node:util'
import type { Log } from '../../log.ts'
import type { Known, Outcome, Received } from './call.ts'
import { outcomeOf } from './call.ts'

/** Everything that lies inside a step. It never rejects: a refusal and a failure are outcomes too. */
export type Next<Call> = (call: Call) => Promise<Outcome>

/**
 * One step of a call. It wraps everything inside it, which it starts with `next`, once at most.
 *
 * - To refuse the call, throw a ToolrackError before `next`, or return an outcome without it.
 * - To tell the inner steps a fact, hand `next` a call that has it.
 * - To close what was opened, and to see how the call ended, await `next`: it always answers.
 *
 * An error that a step throws after `next` is logged and counted; the caller gets what `next` answered.
 */
export type Step<Call extends Received, Inner extends Received = Call> = (
  call: Call,
  next: Next<Inner>,
) => Promise<Outcome>

/** Where errors go that no caller is told of. */
export type StepFailures = {
  readonly log: Log
  /** Counts a step that failed after `next`. */
  readonly countAfterNext: () => void
}

/**
 * Steps around each other, put together once, from the outside in. `Call` is what the innermost of them hands on, so a
 * step can only read a fact that a step around it has added.
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

  /** One more step, inside all others. The name is for the log. */
  step<Inner extends Received>(name: string, step: Step<Call, Inner>): Onion<Inner> {
    return new Onion(this.#failures, (rest) => this.#around(guarded(name, step, rest, this.#failures)))
  }

  /** The innermost step runs the tool. With it, calls can be made. */
  run(name: string, run: Next<Call>): Next<Received> {
    const take = this.#around(guarded(name, run, nothing, this.#failures))
    return (call) => take(call, { count: 0 })
  }
}

/**
 * How many steps of one call have begun and not ended. A step's depth is the count when it began: a lower count means that
 * the step has ended, a higher one that a step inside it still runs.
 */
type Open = { count: number }

type Rest<Call> = (call: Call, open: Open) => Promise<Outcome>

/** A step with everything inside it: it never rejects, and it never ends before what it has started. */
function guarded<Call extends Received, Inner extends Received>(
  name: string,
  step: Step<Call, Inner>,
  rest: Rest<Inner>,
  failures: StepFailures,
): Rest<Call> {
  return function take(call, open) {
    open.count += 1
    const depth = open.count
    let inside: Promise<Outcome> | undefined

    function next(inner: Inner): Promise<Outcome> {
      if (inside || open.count < depth)
        throw new Error(`the step '${name}' may call next once, and not after its end`)
      inside = rest(inner, open)
      return inside
    }
    function finish(outcome: Outcome): Outcome | Promise<Outcome> {
      if (inside && open.count > depth) return inside.then(() => close(outcome, open, depth))
      return close(outcome, open, depth)
    }
    function finishFailed(error: unknown): Outcome | Promise<Outcome> {
      if (!inside) return close(refusal(error, call, name, failures), open, depth)
      reportAfterNext(error, call, name, failures)
      return inside.then((outcome) => close(outcome, open, depth))
    }
    // Written without async functions: with one for each step a warm call takes a third more of the processor.
    try {
      return step(call, next).then(finish, finishFailed)
    } catch (error) {
      return Promise.resolve(finishFailed(error))
    }
  }
}

function close(outcome: Outcome, open: Open, depth: number): Outcome {
  open.count = depth - 1
  return outcome
}

/** What a step threw before `next`, as the model is told of it. What nobody foresaw is logged and told as INTERNAL. */
function refusal(thrown: unknown, call: Known, step: string, { log }: StepFailures): Outcome {
  if (isToolrackError(thrown)) return outcomeOf(call, toolFailure(thrown.code, thrown.message))
  log.error('call failed', { invocationId: call.invocationId, step, error: inspect(thrown) })
  return outcomeOf(
    call,
    toolFailure('INTERNAL', 'The service failed; its log has the reason under the invocationId.'),
  )
}

function reportAfterNext(
  thrown: unknown,
  { invocationId }: Known,
  step: string,
  { log, countAfterNext }: StepFailures,
): void {
  countAfterNext()
  log.error('step failed after the call; the outcome stands', { invocationId, step, error: inspect(thrown) })
}

function nothing(): Promise<never> {
  throw new Error('nothing lies inside the innermost step')
}
