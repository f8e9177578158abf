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

/**
 * V8's heap in the process, in megabytes: twice what the costliest schema within the limits was seen to need. The process as a
 * whole then takes 190 at the most, and a function has 512 for everything.
 */
const HEAP_MB = 96
/** V8's stack in kilobytes: a chain of references that the limits admit is 600 calls deep. A main thread has 8 MB. */
const STACK_KB = 3_900
/** The young part of the heap comes on top of the old, so it is kept small. */
const EXEC_ARGV = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4', `--stack-size=${STACK_KB}`]
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
    child.send(question)
    const heard = await nextMessage<WorkerAnswer<Report>>(child, this.#deadlineMs)
    child.channel?.unref()
    if (typeof heard === 'object' && 'report' in heard) {
      this.#idle = setTimeout(() => void this.#discard(), this.#idleMs).unref()
      return heard
    }
    this.#child = undefined
    const end = await kill(child)
    if (heard === 'late') return { fault: `within ${this.#deadlineMs} ms` }
    return heard === 'gone' ? { fault: withinWhat(end) } : heard
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
    let failure: Error | undefined
    // An error that nobody listens to would end the service.
    child.on('error', (error) => (failure = error))
    child.stdin?.on('error', () => undefined)
    child.on('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    child.unref()
    const heard = await nextMessage(child, START_MS_MAX)
    if (heard === 'ready') return child
    const end = await kill(child)
    throw new Error(
      `the worker process ${this.#url.pathname} could not be started (${failure?.message ?? end})`,
    )
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
