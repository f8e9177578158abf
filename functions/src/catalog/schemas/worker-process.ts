import { ToolrackError } from '@toolrack/contract'
import { fork, type ChildProcess, type Serializable } from 'node:child_process'
import { once } from 'node:events'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '../../log.ts'

/** The worker's report, or the reason why there is none, as a part of a sentence, such as "within 500 ms". */
export type WorkerAnswer<Report> = { readonly report: Report } | { readonly fault: string }

export type WorkerOptions = {
  readonly deadlineMs: number
  /** Milliseconds without a question after which the process is killed. */
  readonly idleMs?: number
  /** Milliseconds that the start of the process may take. A start takes 100 ms, and much more on a busy machine. */
  readonly startMs?: number
  readonly log?: Log | undefined
}

const DEFAULTS = { idleMs: 60_000, startMs: 10_000 }

/**
 * The most MB of V8's heap: twice what the most expensive schema needs. With other memory, such as that of RE2, the whole process
 * has 190 to 334 MB.
 */
const HEAP_MB = 96
/**
 * V8's stack, in kilobytes. It is enough for a chain of references within the limits, which is 600 calls deep. The main thread's
 * own stack has 8 MB.
 */
const STACK_KB = 3_900
/** The options of Node that limit memory. The semi-spaces are small, because the limit of the old space does not include them. */
const EXEC_ARGV = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4', `--stack-size=${STACK_KB}`]

/**
 * A process that answers questions about data of strangers. It starts with the first question, and is killed after `idleMs`
 * without a question. If a question takes too much time, the process is killed and replaced. A thread would not be safe enough:
 * if it fills its heap before V8 notices the limit, V8 ends the whole process.
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

  /** True if the process runs, so that a question does not wait for the start of the process. */
  get isStarted(): boolean {
    return this.#child !== undefined
  }

  /** Starts the process if it does not run, so that the next question loses no time to the start. Rejects with SERVICE_BUSY. */
  async ready(): Promise<ChildProcess> {
    clearTimeout(this.#idle)
    // A process that dies closes its channel before its exit is known.
    if (this.#child?.connected === false) this.#child = undefined
    return (this.#child ??= await this.#start())
  }

  /**
   * Answers one question. The caller must wait for the answer before the next question. If something outside killed the process,
   * the question is asked once more. Rejects with SERVICE_BUSY if no process can be started, or if this object is closed.
   */
  async answer(question: Question): Promise<WorkerAnswer<Report>> {
    const first = await this.#askOnce(question)
    const last = 'end' in first && isKilled(first.end) ? await this.#askOnce(question) : first
    return 'end' in last ? { fault: faultOf(last.end) } : last
  }

  /** Kills the process if it runs. Afterwards no process is started. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#starting) await kill(this.#starting)
    await this.#discard()
  }

  async #askOnce(question: Question): Promise<WorkerAnswer<Report> | { readonly end: string }> {
    const child = await this.ready()
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

  /** Tries twice, because another program may have killed the first process during its start. */
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
   * The child process, or the reason why it could not be started. The child gets no environment, except for the folder of Node's
   * compile cache if this process uses one, because this cache halves the time of a start. The child gets only two pipes: the
   * message channel, and a standard input to which nothing is sent. When the service ends, this input ends, and then the child
   * ends too. The child has its own session, so a Ctrl-C at the terminal does not reach it.
   */
  async #startOnce(): Promise<ChildProcess | string> {
    if (this.#isClosed) return 'closed'
    const compileCache = getCompileCacheDir()
    let child: ChildProcess
    try {
      this.#starting = child = fork(this.#url, {
        execArgv: EXEC_ARGV,
        env: compileCache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compileCache) },
        cwd: '/',
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
      })
    } catch (error) {
      return (error as Error).message
    }
    let failure: Error | undefined
    // Without this listener, an error would end the service.
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
    // If the service has no free file descriptor, the `error` event comes only in the next turn of the event loop.
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

/** Kills the process if it still runs. Resolves with the signal or the exit code with which it has ended. */
async function kill(child: ChildProcess): Promise<string> {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    child.ref()
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return child.signalCode ?? `exit code ${child.exitCode}`
}

/**
 * True if a signal of another program or of the kernel ended the process. SIGABRT comes from V8, which ends its own process when
 * the heap is full.
 */
function isKilled(end: string): boolean {
  return end.startsWith('SIG') && end !== 'SIGABRT'
}

/** The fault for a process that has ended. If memory is full, V8 sends SIGABRT (134 in a shell), and the kernel SIGKILL. */
function faultOf(end: string): string {
  const isOutOfMemory = end === 'SIGABRT' || end === 'exit code 134' || end === 'SIGKILL'
  return isOutOfMemory ? `within ${HEAP_MB} MB of memory` : `(its process has ended: ${end})`
}

/** The error of a question to a process that is closed. */
export function stopping(): ToolrackError {
  return new ToolrackError('SERVICE_BUSY', 'The service is stopping; nothing was done. Try again.')
}

/**
 * The next message of the child, even if the process ended after sending it. `late` if no message arrives in time, `gone` if the
 * process ends first.
 */
function nextMessage<T>(child: ChildProcess, timeoutMs: number): Promise<T | 'late' | 'gone'> {
  return new Promise((resolve) => {
    // After a busy turn of the event loop, the timer may be due although a message has arrived. Then the message is read first.
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
