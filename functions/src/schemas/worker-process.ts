import { fork } from 'node:child_process'
import type { ChildProcess, Serializable } from 'node:child_process'
import { once } from 'node:events'

/** What a worker answered, or why it did not, to be put into a sentence. */
export type WorkerAnswer<Report> = { readonly report: Report } | { readonly fault: string }

export type WorkerOptions = {
  /** Milliseconds that one question may take. */
  readonly deadlineMs: number
  /** Milliseconds without a question after which the process is ended. */
  readonly idleMs?: number
}

/** V8's heap in the process, in megabytes: 600 properties take 60 to compile, and a function has 512 for everything. */
const HEAP_MB = 128
/** V8's stack in kilobytes: a chain of references that the limits admit is 600 calls deep. A main thread has 8 MB. */
const STACK_KB = 3_900
const EXEC_ARGV = [`--max-old-space-size=${HEAP_MB}`, `--stack-size=${STACK_KB}`]
/** How long the process may take until it is ready, in milliseconds: 100 as measured, far more on a machine without time. */
const START_MS_MAX = 30_000
const IDLE_MS = 60_000

/**
 * A process that answers questions about what a stranger has sent. It is started with the first question, killed and
 * replaced when one takes too long, and ended when there is nothing to do. It is a process and not a thread, because V8
 * ends the whole process when a thread fills its heap faster than the limit is noticed.
 */
export class WorkerProcess<Question extends Serializable, Report> {
  readonly #url: URL
  readonly #deadlineMs: number
  readonly #idleMs: number
  #child: ChildProcess | undefined
  #idle: NodeJS.Timeout | undefined
  #queue: Promise<unknown> = Promise.resolve()

  constructor(url: URL, { deadlineMs, idleMs = IDLE_MS }: WorkerOptions) {
    this.#url = url
    this.#deadlineMs = deadlineMs
    this.#idleMs = idleMs
  }

  /**
   * Questions are answered one after the other: one that hangs delays the others by its deadline at the most. Rejects
   * when the process cannot be started.
   */
  ask(question: Question): Promise<WorkerAnswer<Report>> {
    const answer = this.#queue.then(() => this.#askNow(question))
    this.#queue = answer.catch(() => undefined)
    return answer
  }

  async close(): Promise<void> {
    await this.#queue
    await this.#discard()
  }

  async #askNow(question: Question): Promise<WorkerAnswer<Report>> {
    clearTimeout(this.#idle)
    const child = (this.#child ??= await this.#start())
    child.channel?.ref()
    const late = new AbortController()
    // A busy main thread finds the timer due and the report waiting: the report is taken first.
    const deadline = setTimeout(() => setImmediate(() => late.abort()), this.#deadlineMs)
    try {
      child.send(question)
      const answer = await nextMessage<WorkerAnswer<Report>>(child, late.signal)
      if (answer === undefined) return { fault: withinWhat(await kill(child)) }
      // What has thrown may have left anything behind.
      if ('fault' in answer) await this.#discard()
      return answer
    } catch (error) {
      await this.#discard()
      return {
        fault: late.signal.aborted ? `within ${this.#deadlineMs} ms` : `(${(error as Error).message})`,
      }
    } finally {
      clearTimeout(deadline)
      child.channel?.unref()
      this.#idle = setTimeout(() => void this.#discard(), this.#idleMs).unref()
    }
  }

  /**
   * Without an environment, and without a descriptor of ours but its two pipes. The first is its input, on which nothing is
   * ever sent: it ends when this process ends, and the child with it. A session of its own keeps a Ctrl-C at the terminal from it.
   */
  async #start(): Promise<ChildProcess> {
    const child = fork(this.#url, {
      execArgv: EXEC_ARGV,
      env: {},
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
    })
    // An error that nobody listens to would end the service.
    child.on('error', () => undefined)
    child.stdin?.on('error', () => undefined)
    child.on('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    child.unref()
    try {
      const ready = await nextMessage(child, AbortSignal.timeout(START_MS_MAX))
      if (ready !== undefined) return child
    } catch (error) {
      await kill(child)
      throw this.#notStarted((error as Error).message)
    }
    throw this.#notStarted(await kill(child))
  }

  #notStarted(reason: string): Error {
    return new Error(`the worker process ${this.#url.pathname} could not be started (${reason})`)
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

/** For a sentence of what could not be done; V8 and the kernel have a signal each for a process that takes too much. */
function withinWhat(end: string): string {
  const isOutOfMemory = end === 'SIGABRT' || end === 'SIGKILL'
  return isOutOfMemory ? `within ${HEAP_MB} MB of memory` : `(its process has ended: ${end})`
}

/** The next message, or undefined when the process ends before it sends one: its channel ends behind all that it has sent. */
async function nextMessage<T>(child: ChildProcess, signal: AbortSignal): Promise<T | undefined> {
  if (!child.connected) return undefined
  const over = new AbortController()
  const options = { signal: AbortSignal.any([signal, over.signal]) }
  try {
    const [message] = (await Promise.race([
      once(child, 'message', options),
      once(child, 'disconnect', options).then(() => []),
    ])) as [T?]
    return message
  } finally {
    over.abort()
  }
}
