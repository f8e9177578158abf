import { ToolrackError } from '@toolrack/contract'
import type { Serializable } from 'node:child_process'
import { FairQueue } from '../../fair-queue.ts'
import type { NotRun, QueueState, QueueUser } from '../../fair-queue.ts'
import { stopping, WorkerProcess } from './worker-process.ts'
import type { WorkerAnswer, WorkerOptions } from './worker-process.ts'

export type PoolOptions = WorkerOptions & {
  /** The clock that checks are measured by, in milliseconds from any beginning. */
  readonly nowMs?: (() => number) | undefined
}

/** Who asks. */
export type Asker = {
  /** The caller's uid; null for what the service reads by itself. */
  readonly user: QueueUser
  /** Aborted when nobody wants the answer any more: a question that still waits is then given up. */
  readonly signal?: AbortSignal | undefined
  /** Told how many milliseconds the check itself took, without the time that the question waited for others. */
  readonly spent?: ((ms: number) => void) | undefined
}

/** One user has one process at most, so the other is always there for others. */
const PROCESSES = 2
/**
 * How many questions may wait for one user, and for all users together. What waits keeps its parsed body, which the bound of
 * bodies in flight limits. A user whose every question takes 1 s until its deadline, 0.6 s for the start of the next process
 * and 1 s of pause waits 83 s for the last of them.
 */
export const WAITING_PER_USER = 32
const WAITING_MAX = 4 * WAITING_PER_USER

/**
 * Up to two processes that answer questions about what strangers have sent. The second is started when a second user has a
 * question meanwhile. Users take turns, and a check that failed for its time or memory pauses its user.
 */
export class WorkerPool<Question extends Serializable, Report> {
  readonly #nowMs: () => number
  readonly #processes: readonly WorkerProcess<Question, Report>[]
  readonly #free: Set<WorkerProcess<Question, Report>>
  #isClosed = false
  readonly #queue = new FairQueue(
    { places: PROCESSES, placesPerUser: 1, waitingPerUser: WAITING_PER_USER, waitingMax: WAITING_MAX },
    notAsked,
  )

  constructor(url: URL, { nowMs = () => performance.now(), ...options }: PoolOptions) {
    this.#nowMs = nowMs
    this.#processes = Array.from({ length: PROCESSES }, () => new WorkerProcess(url, options))
    this.#free = new Set(this.#processes)
  }

  /** How long the queue is now. */
  get state(): QueueState {
    return this.#queue.state
  }

  /**
   * Asks when it is the user's turn. Rejects with SERVICE_BUSY when too many wait, when no process can be started, when the
   * signal is aborted while the question waits, and when the pool is closed before the answer.
   */
  async ask(question: Question, { user, signal, spent }: Asker): Promise<WorkerAnswer<Report>> {
    if (this.#isClosed) throw stopping()
    return this.#queue.run(user, () => this.#answerTo(question, user, spent), { signal })
  }

  /** Refuses everything that is not answered yet, and kills the processes: what waits would take more than a minute. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#queue.refuseWaiting(stopping())
    await Promise.all(this.#processes.map((each) => each.close()))
  }

  async #answerTo(question: Question, user: QueueUser, spent: Asker['spent']): Promise<WorkerAnswer<Report>> {
    const free = [...this.#free]
    const process = free.find(({ isStarted }) => isStarted) ?? free[0]
    if (!process) throw new Error('more questions than processes')
    this.#free.delete(process)
    try {
      await process.ready()
      const startMs = this.#nowMs()
      const answer = await process.answer(question)
      const tookMs = this.#nowMs() - startMs
      spent?.(tookMs)
      // So that such checks take half of one process at most, and the other half is left for the start of its successor.
      if ('fault' in answer && user !== null) this.#queue.pause(user, tookMs)
      return answer
    } catch (error) {
      // Those who wait would wait as long for a start of their own.
      if (!this.#processes.some(({ isStarted }) => isStarted)) this.#queue.refuseWaiting(error as Error)
      throw error
    } finally {
      this.#free.add(process)
    }
  }
}

const TOO_MANY = 'As many of your checks wait as may; nothing was done. Try again.'
const GONE = 'The caller has gone, so nothing was checked.'

/** One whose caller has gone is read by nobody. It is no plain error, because those are logged as failures of the service. */
export function notAsked(why: NotRun): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', why === 'full' ? TOO_MANY : GONE)
}
