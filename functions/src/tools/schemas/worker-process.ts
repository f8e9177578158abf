import { ToolrackError } from '@toolrack/contract'
import { fork, type ChildProcess, type Serializable } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '../../log.ts'

/** The worker's report. A fault says why there is none, as a part of a sentence: "within 500 ms". */
export type WorkerAnswer<Report> = { readonly report: Report } | { readonly fault: string }

export type WorkerOptions = {
  readonly deadlineMs: number
  /** Milliseconds without a question after which the process is ended. */
  readonly idleMs?: number
  /** Milliseconds that the process may take until it is ready: 100 as measured, far more on a machine without time. */
  readonly startMs?: number
  readonly log?: Log | undefined
}

const DEFAULTS = { idleMs: 60_000, startMs: 10_000 }

/**
 * V8's heap in the process, in megabytes: twice what the costliest schema within the limits needs. Memory outside of V8,
 * such as RE2's, comes on top: whole processes of 190 to 334 MB were measured.
 */
const HEAP_MB = 96
/** V8's stack, in kilobytes. A chain of references within the limits is 600 calls deep. A main thread has 8 MB. */
const STACK_KB = 3_900
/** The young part of the heap is not counted in the old, so it is kept small. */
const EXEC_ARGV = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4', `--stack-size=${STACK_KB}`]

/**
 * A process that answers questions about what a stranger has sent. It starts with the first question, is killed and
 * replaced if a question takes too long, and ends if nothing is asked. A thread would not do: V8 ends the whole process if
 * a thread fills its heap faster than the limit is noticed.
 */
export class WorkerProcess<Question extends Serializable, Report> {
  readonly #url: URL
  readonly #options: WorkerOptions & typeof DEFAULTS
  #child: ChildProcess | undefined
  #starting: ChildProcess | undefined
  #isClosed = false
  #idle: NodeJS.Timeout | undefined

  constructor(url: URL, options: WorkerOptions) {
    this.#url = url
    this.#options = { ...DEFAULTS, ...options }
  }

  /** True if a question would be answered without a start. */
  get isStarted(): boolean {
    return this.#child !== undefined
  }

  /** Starts the process if there is none, so that the start is not a part of the next answer's time. Rejects with SERVICE_BUSY. */
  async ready(): Promise<void> {
    clearTimeout(this.#idle)
    this.#child ??= await this.#start()
  }

  /**
   * Answers one question. The caller asks the next one afterwards. If the process was killed, perhaps not by the question, it
   * is asked once more. Rejects with SERVICE_BUSY if no process can be started, or this one is closed.
   */
  async answer(question: Question): Promise<WorkerAnswer<Report>> {
    const first = await this.#askOnce(question)
    const last = 'end' in first && isKilled(first.end) ? await this.#askOnce(question) : first
    return 'end' in last ? { fault: faultOf(last.end) } : last
  }

  /** Kills the process, if there is one. No other is started afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#starting) await kill(this.#starting)
    await this.#discard()
  }

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

  /** Tries twice, because something else may have killed the first process while it started. */
  async #start(): Promise<ChildProcess> {
    const first = await this.#startOnce()
    const last = typeof first === 'string' ? await this.#startOnce() : first
    if (this.#isClosed) throw stopping()
    if (typeof last !== 'string') return last
    const reason = `${this.#url.pathname} could not be started (${last})`
    this.#options.log?.error('a process for checks could not be started', { reason })
    const message = 'The service could not start the process for its checks; nothing was done. Try again.'
    throw new ToolrackError('SERVICE_BUSY', message, { cause: new Error(reason) })
  }

  /**
   * The child, or why it could not be started. It gets no environment, and no descriptors of ours but two pipes. Nothing is
   * sent on the first, its input: it ends when this process ends, and the child with it. The child has a session of its
   * own, so that a Ctrl-C at the terminal does not reach it.
   */
  async #startOnce(): Promise<ChildProcess | string> {
    if (this.#isClosed) return 'closed'
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
      return (error as Error).message
    }
    let failure: Error | undefined
    // Without a listener an error would end the service.
    child.on('error', (error) => (failure = error))
    child.stdin?.on('error', () => undefined)
    child.on('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    child.unref()
    const { startMs } = this.#options
    const heard = await nextMessage(child, startMs)
    this.#starting = undefined
    if (heard === 'ready' && !this.#isClosed) return child
    const end = await kill(child)
    // If no descriptor is left, the error comes a turn after the call.
    await nextTurn()
    return failure?.message ?? (heard === 'late' ? `not within ${startMs} ms` : end)
  }

  async #discard(): Promise<void> {
    clearTimeout(this.#idle)
    const child = this.#child
    this.#child = undefined
    if (child) await kill(child)
  }
}

/** Kills the process if it still runs. Answers how it ended: a signal or an exit code. */
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

/** True if a signal ended the process that V8 does not send. V8 aborts if its heap is full: SIGABRT, or 134 by a shell. */
function isKilled(end: string): boolean {
  return end.startsWith('SIG') && end !== 'SIGABRT'
}

/** V8 and the kernel have a signal each for a process that takes too much memory. */
function faultOf(end: string): string {
  const isOutOfMemory = end === 'SIGABRT' || end === 'exit code 134' || end === 'SIGKILL'
  return isOutOfMemory ? `within ${HEAP_MB} MB of memory` : `(its process has ended: ${end})`
}

/** The error of a question to a process that has been closed. */
export function stopping(): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', 'The service is stopping; nothing was done. Try again.')
}

/**
 * The next message; `late` if there is none in time, `gone` if the process ends before it sends one. What it sent before its
 * end is heard first.
 */
function nextMessage<T>(child: ChildProcess, timeoutMs: number): Promise<T | 'late' | 'gone'> {
  return new Promise((resolve) => {
    // After a busy turn both the timer is due and the message is there: the message is taken.
    const timer = setTimeout(() => setImmediate(heard, 'late'), timeoutMs)
    const gone = (): void => heard('gone')
    function heard(what: T | 'late' | 'gone'): void {
      clearTimeout(timer)
      child.off('message', heard).off('disconnect', gone).off('error', gone)
      resolve(what)
    }
    child.on('message', heard).on('disconnect', gone).on('error', gone)
    if (!child.connected) gone()
  })
}
