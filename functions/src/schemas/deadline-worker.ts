import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** What a worker answered, or why it did not, to be put into a sentence. */
export type WorkerAnswer<Report> = { readonly report: Report } | { readonly fault: string }

/** A worker that is killed and replaced when one question takes too long; the event loop never waits. */
export class DeadlineWorker<Question, Report> {
  readonly #url: URL
  readonly #deadlineMs: number
  #worker: Worker | undefined
  #queue: Promise<unknown> = Promise.resolve()

  constructor(url: URL, deadlineMs: number) {
    this.#url = url
    this.#deadlineMs = deadlineMs
  }

  /** One after the other: a question that hangs delays the others by its deadline at the most. */
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
    const worker = (this.#worker ??= await this.#start())
    const stopWaiting = new AbortController()
    // A busy main thread finds the timer due and the report waiting: the report is taken first.
    const deadline = setTimeout(() => setImmediate(() => stopWaiting.abort()), this.#deadlineMs)
    worker.postMessage(question)
    try {
      const [report] = (await once(worker, 'message', { signal: stopWaiting.signal })) as [Report]
      return { report }
    } catch (error) {
      await this.#discard()
      const late = stopWaiting.signal.aborted
      return { fault: late ? `within ${this.#deadlineMs} ms` : `(${(error as Error).message})` }
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Without an environment and with a small heap: what runs there was made from an author's schema. */
  async #start(): Promise<Worker> {
    const worker = new Worker(this.#url, {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
    })
    worker.unref()
    // One that dies between two questions is forgotten; an error that nobody listens to would end the service.
    worker.on('error', () => undefined)
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    await once(worker, 'message')
    return worker
  }

  async #discard(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}
