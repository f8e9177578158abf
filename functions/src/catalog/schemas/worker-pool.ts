import { ToolrackError } from '@toolrack/contract'
import type { Serializable } from 'node:child_process'
import { FairQueue, type QueueState, type QueueUser } from '../../fair-queue.ts'
import { stopping, WorkerProcess, type WorkerAnswer, type WorkerOptions } from './worker-process.ts'

/** `nowMs` is the clock that measures how long checks take. It may count from any moment. */
export type PoolOptions = WorkerOptions & { readonly nowMs?: () => number }

/** The parts of a pool that tests replace. */
export type PoolParts = Partial<PoolOptions> & { readonly workerUrl?: URL }

export type Asker = {
  /** The caller's uid. Null if the question is about files or documents that the service reads by itself. */
  readonly user: QueueUser
  /** A signal that is aborted when nobody needs the answer any more. A waiting question is then not asked. */
  readonly signal?: AbortSignal | undefined
  /** Called with the milliseconds of the check, without the time that the question waited for other questions. */
  readonly spent?: (ms: number) => void
}

/** The number of processes. Each user uses at most one of them at a time, so one user never occupies both. */
const PROCESSES = 2
/**
 * How many questions of one user may wait. The last one waits up to 83 s. Each question before it may take 1 s until its
 * deadline, 0.6 s for the start of the next process, and 1 s of pause. A waiting question keeps its parsed body in memory. The
 * limit of bodies in flight bounds this memory.
 */
export const WAITING_PER_USER = 32
/** The most waiting questions of all users together: four times the limit of one user. */
const WAITING_MAX = 4 * WAITING_PER_USER

/**
 * Up to two processes that answer questions about data of strangers. The second process starts if another user asks while the
 * first process is busy. Users take turns. If a check takes too much time or memory, its user has to pause.
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

  get state(): QueueState {
    return this.#queue.state
  }

  /**
   * Asks a question when it is the user's turn. Rejects with SERVICE_BUSY if too many questions wait, if no process can be
   * started, or if the pool is closed before the answer. Rejects with CANCELLED if the signal is aborted while the question
   * waits.
   */
  async ask(question: Question, { user, signal, spent }: Asker): Promise<WorkerAnswer<Report>> {
    if (this.#isClosed) throw stopping()
    return this.#queue.run(user, () => this.#answerTo(question, user, spent), signal)
  }

  /** Refuses all open questions and kills the processes. Answers to all waiting questions would take over a minute. */
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
      // The pause is as long as the failed check. So the failing checks of a user take at most half the time of one process.
      if ('fault' in answer && user !== null) this.#queue.pause(user, tookMs)
      return answer
    } catch (error) {
      // If no process can be started, the waiting questions are refused too. Otherwise each of them would wait for another failed
      // start.
      if (!this.#processes.some(({ isStarted }) => isStarted)) this.#queue.refuseWaiting(error as Error)
      throw error
    } finally {
      this.#free.add(process)
    }
  }
}

/** The URL of a program in this folder: the `.ts` source, or the `.js` file of a built service. */
export function workerUrlOf(name: string): URL {
  return new URL(`./${name}.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
}

/**
 * The error of a question that was not asked. It is a ToolrackError, because other errors are logged as failures of the service.
 */
function notAsked(): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', 'As many of your checks wait as may; nothing was done. Try again.')
}
