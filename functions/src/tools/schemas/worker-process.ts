import { ToolrackError } from '@toolrack/contract'
import { fork, type ChildProcess, type Serializable } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '../../log.ts'

/** The worker's report, or the reason why there is none. The reason is a part of a sentence, for example "within 500 ms". */
export type WorkerAnswer<Report> = { readonly report: Report } | { readonly fault: string }

export type WorkerOptions = {
  readonly deadlineMs: number
  /** Milliseconds without a question after which the process is killed. */
  readonly idleMs?: number
  /** Milliseconds that the start of the process may take. Measured: 100, and far more on a busy machine. */
  readonly startMs?: number
  readonly log?: Log | undefined
}

const DEFAULTS = { idleMs: 60_000, startMs: 10_000 }

/**
 * The size of V8's heap in the process, in megabytes: twice the need of the costliest schema within the limits. Memory
 * outside of V8, such as RE2's, is not included: whole processes of 190 to 334 MB were measured.
 */
const HEAP_MB = 96
/**
 * The size of V8's stack, in kilobytes. A chain of references within the limits is 600 calls deep. The system gives a main
 * thread 8 MB.
 */
const STACK_KB = 3_900
/** The limit of the old space does not include the young generation (the semi-spaces), so these are kept small. */
const EXEC_ARGV = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4', `--stack-size=${STACK_KB}`]

/**
 * A process that answers questions about data of strangers. It starts with the first question, and is killed if there is no
 * question for some time. If a question takes too long, the process is killed and replaced. A thread would not be enough:
 * V8 ends the whole process if a thread fills its heap before the limit is noticed.
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

  /** True if the process runs, so that a question does not wait for its start. */
  get isStarted(): boolean {
    return this.#child !== undefined
  }

  /**
   * Starts the process if it does not run, so that the start does not count against the next question's deadline. Rejects
   * with SERVICE_BUSY.
   */
  async ready(): Promise<void> {
    clearTimeout(this.#idle)
    this.#child ??= await this.#start()
  }

  /**
   * Answers one question. The caller must wait for the answer before it asks the next question. If the process was
   * killed, the question is asked once more, because the question may not be the reason. Rejects with SERVICE_BUSY if
   * no process can be started, or if this object is closed.
   */
  async answer(question: Question): Promise<WorkerAnswer<Report>> {
    const first = await this.#askOnce(question)
    const last = 'end' in first && isKilled(first.end) ? await this.#askOnce(question) : first
    return 'end' in last ? { fault: faultOf(last.end) } : last
  }

  /** Kills the process if it runs. Starts no other process afterwards. */
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
   * The child process, or the reason why it could not be started. The child gets no environment, and from the service only
   * two pipes: its standard input and the message channel. Nothing is sent to the standard input. It ends when the service
   * ends, and the child then ends too. The child has a session of its own, so that a Ctrl-C at the terminal does not reach
   * it.
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
    // If the service has no free descriptor, the `error` event comes one turn of the event loop later.
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

/** Kills the process if it still runs. Resolves with the way it ended: a signal or an exit code. */
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

/**
 * True if a signal from outside ended the process. It is false for SIGABRT (exit code 134 in a shell), because V8
 * aborts when its heap is full.
 */
function isKilled(end: string): boolean {
  return end.startsWith('SIG') && end !== 'SIGABRT'
}

/** The fault for a process that has ended. Out of memory, V8 ends the process with SIGABRT and the kernel with SIGKILL. */
function faultOf(end: string): string {
  const isOutOfMemory = end === 'SIGABRT' || end === 'exit code 134' || end === 'SIGKILL'
  return isOutOfMemory ? `within ${HEAP_MB} MB of memory` : `(its process has ended: ${end})`
}

/** The error of a question to a closed process. */
export function stopping(): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', 'The service is stopping; nothing was done. Try again.')
}

/**
 * The next message of the process. `late` if none arrives in time, and `gone` if the process ends without one. A
 * message that was sent before the end is received first.
 */
function nextMessage<T>(child: ChildProcess, timeoutMs: number): Promise<T | 'late' | 'gone'> {
  return new Promise((resolve) => {
    // After a busy turn of the event loop the timer may be due although a message has arrived. The message is then
    // preferred.
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
