import { ToolrackError } from '@toolrack/contract'
import { fork } from 'node:child_process'
import type { ChildProcess, Serializable } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '../../log.ts'

/** What a worker answered, or why it did not, to be put into a sentence. */
export type WorkerAnswer<Report> = { readonly report: Report } | { readonly fault: string }

export type WorkerOptions = {
  /** Milliseconds that one question may take. */
  readonly deadlineMs: number
  /** Milliseconds without a question after which the process is ended. */
  readonly idleMs?: number
  /** Milliseconds that the process may take until it is ready. */
  readonly startMs?: number
  /** Hears why a process could not be started. */
  readonly log?: Log | undefined
}

/**
 * V8's heap in the process, in megabytes: twice what the costliest schema within the limits was seen to need. Memory outside
 * of V8, such as RE2's, is not in it: the whole process was seen to take 190 to 334 MB.
 */
const HEAP_MB = 96
/** V8's stack in kilobytes: a chain of references that the limits admit is 600 calls deep. A main thread has 8 MB. */
const STACK_KB = 3_900
/** The young part of the heap comes on top of the old, so it is kept small. */
const EXEC_ARGV = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4', `--stack-size=${STACK_KB}`]
/** How long the process may take until it is ready, in milliseconds: 100 as measured, far more on a machine without time. */
const START_MS_MAX = 10_000
const IDLE_MS = 60_000
/**
 * A process that answers questions about what a stranger has sent. It is started with the first question, killed and
 * replaced when one takes too long, and ended when there is nothing to do. It is a process and not a thread, because V8
 * ends the whole process when a thread fills its heap faster than the limit is noticed.
 */
export class WorkerProcess<Question extends Serializable, Report> {
  readonly #url: URL
  readonly #options: Required<Omit<WorkerOptions, 'log'>>
  readonly #log: Log | undefined
  #child: ChildProcess | undefined
  #starting: ChildProcess | undefined
  #isClosed = false
  #idle: NodeJS.Timeout | undefined

  constructor(url: URL, { deadlineMs, idleMs = IDLE_MS, startMs = START_MS_MAX, log }: WorkerOptions) {
    this.#url = url
    this.#options = { deadlineMs, idleMs, startMs }
    this.#log = log
  }

  /** Whether a question would be answered without starting anything first. */
  get isStarted(): boolean {
    return this.#child !== undefined
  }

  /** Has the process started, so that the time of an answer is that of its question. Rejects with SERVICE_BUSY when it cannot be. */
  async ready(): Promise<void> {
    clearTimeout(this.#idle)
    this.#child ??= await this.#start()
  }

  /**
   * Answers one question; the caller asks the next when it has been answered. Something else than the question may have killed
   * the process, so it is asked again, once. Rejects with SERVICE_BUSY when the process cannot be started, or is closed.
   */
  async answer(question: Question): Promise<WorkerAnswer<Report>> {
    const first = await this.#askOnce(question)
    const last = 'end' in first && isKilled(first.end) ? await this.#askOnce(question) : first
    return 'end' in last ? { fault: withinWhat(last.end) } : last
  }

  /** Kills the process, if there is one, and starts none any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#starting) await kill(this.#starting)
    await this.#discard()
  }

  /** The answer, or how the process has ended without one. */
  async #askOnce(question: Question): Promise<WorkerAnswer<Report> | { readonly end: string }> {
    clearTimeout(this.#idle)
    const child = (this.#child ??= await this.#start())
    const { deadlineMs, idleMs } = this.#options
    child.channel?.ref()
    child.send(question)
    const heard = await nextMessage<WorkerAnswer<Report>>(child, deadlineMs)
    child.channel?.unref()
    if (typeof heard === 'object' && 'report' in heard) {
      this.#idle = setTimeout(() => void this.#discard(), idleMs).unref()
      return heard
    }
    this.#child = undefined
    const end = await kill(child)
    if (heard === 'late') return { fault: `within ${deadlineMs} ms` }
    return heard === 'gone' ? { end } : heard
  }

  /** Tries twice: something else may have killed the first while it started. */
  async #start(): Promise<ChildProcess> {
    const first = await this.#startOnce()
    const last = 'failure' in first ? await this.#startOnce() : first
    if (this.#isClosed) throw stopping()
    if (!('failure' in last)) return last.child
    const cause = new Error(`${this.#url.pathname} could not be started (${last.failure})`)
    this.#log?.error('a process for checks could not be started', { reason: cause.message })
    throw new ToolrackError('SERVICE_BUSY', NOT_STARTED, { cause })
  }

  /**
   * Without an environment, and without a descriptor of ours but its two pipes. The first is its input, on which nothing is
   * ever sent: it ends when this process ends, and the child with it. A session of its own keeps a Ctrl-C at the terminal from it.
   */
  async #startOnce(): Promise<{ readonly child: ChildProcess } | { readonly failure: string }> {
    if (this.#isClosed) return { failure: 'closed' }
    let child: ChildProcess
    try {
      this.#starting = child = fork(this.#url, {
        execArgv: EXEC_ARGV,
        env: {},
        cwd: '/',
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
      })
    } catch (error) {
      return { failure: (error as Error).message }
    }
    let failure: Error | undefined
    // An error that nobody listens to would end the service.
    child.on('error', (error) => (failure = error))
    child.stdin?.on('error', () => undefined)
    child.on('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    child.unref()
    const heard = await nextMessage(child, this.#options.startMs)
    this.#starting = undefined
    if (heard === 'ready' && !this.#isClosed) return { child }
    const end = await kill(child)
    // Where there is no descriptor left, the error comes a turn after the call.
    await nextTurn()
    return {
      failure: failure?.message ?? (heard === 'late' ? `not within ${this.#options.startMs} ms` : end),
    }
  }

  async #discard(): Promise<void> {
    clearTimeout(this.#idle)
    const child = this.#child
    this.#child = undefined
    if (child) await kill(child)
  }
}

/** Ends the process if it still runs, and tells how it has ended. */
async function kill(child: ChildProcess): Promise<string> {
  const isRunning = child.pid !== undefined && child.exitCode === null && child.signalCode === null
  if (isRunning) {
    child.ref()
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return child.signalCode ?? `exit code ${child.exitCode}`
}

/** Whether a signal ended the process that V8 does not send itself. V8 aborts when its heap is full: SIGABRT, or 134 by a shell. */
function isKilled(end: string): boolean {
  return end.startsWith('SIG') && end !== 'SIGABRT'
}

/** For a sentence of what could not be done; V8 and the kernel have a signal each for a process that takes too much. */
function withinWhat(end: string): string {
  const isOutOfMemory = end === 'SIGABRT' || end === 'exit code 134' || end === 'SIGKILL'
  return isOutOfMemory ? `within ${HEAP_MB} MB of memory` : `(its process has ended: ${end})`
}

/** What is asked of a process that has been closed. */
export function stopping(): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', 'The service is stopping; nothing was done. Try again.')
}

const NOT_STARTED = 'The service could not start the process for its checks; nothing was done. Try again.'

/**
 * The next message; `late` when there is none in time, `gone` when the process ends before it sends one: its channel ends
 * behind all that it has sent.
 */
function nextMessage<T>(child: ChildProcess, timeoutMs: number): Promise<T | 'late' | 'gone'> {
  return new Promise((resolve) => {
    // A busy main thread finds the timer due and the message waiting: the message is taken first.
    const timer = setTimeout(() => setImmediate(heard, 'late'), timeoutMs)
    function gone(): void {
      heard('gone')
    }
    function heard(what: T | 'late' | 'gone'): void {
      clearTimeout(timer)
      child.off('message', heard).off('disconnect', gone).off('error', gone)
      resolve(what)
    }
    child.on('message', heard).on('disconnect', gone).on('error', gone)
    if (!child.connected) gone()
  })
}
