import type { JsonObject } from '@toolrack/contract'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { CompileReport } from './compile-schema.ts'
import { SCHEMA_LIMITS } from './schema-limits.ts'

const WORKER_URL = new URL(
  `./schema-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
)

/** Compiles schemas in a worker that is killed and replaced when one takes too long; the event loop never waits. */
export class SchemaChecker {
  readonly #deadlineMs: number
  readonly #workerUrl: URL
  #worker: Worker | undefined
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: { deadlineMs?: number; workerUrl?: URL } = {}) {
    this.#deadlineMs = options.deadlineMs ?? SCHEMA_LIMITS.compileMsMax
    this.#workerUrl = options.workerUrl ?? WORKER_URL
  }

  /** One after the other: a schema that hangs delays the others by its deadline at the most. */
  compile(schema: JsonObject): Promise<CompileReport> {
    const report = this.#queue.then(() => this.#compileNow(JSON.stringify(schema)))
    this.#queue = report.catch(() => undefined)
    return report
  }

  async close(): Promise<void> {
    await this.#queue
    await this.#discard()
  }

  async #compileNow(text: string): Promise<CompileReport> {
    const worker = (this.#worker ??= await this.#start())
    const stopWaiting = new AbortController()
    // A busy main thread finds the timer due and the report waiting: the report is taken first.
    const deadline = setTimeout(() => setImmediate(() => stopWaiting.abort()), this.#deadlineMs)
    worker.postMessage(text)
    try {
      const [report] = (await once(worker, 'message', { signal: stopWaiting.signal })) as [CompileReport]
      return report
    } catch (error) {
      await this.#discard()
      const late = stopWaiting.signal.aborted
      const reason = late ? `within ${this.#deadlineMs} ms` : `(${(error as Error).message})`
      return {
        faults: [{ pointer: '', message: `the schema could not be compiled ${reason}; simplify it` }],
        unenforced: [],
      }
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Without an environment and with a small heap: what runs there was made from an author's schema. */
  async #start(): Promise<Worker> {
    const worker = new Worker(this.#workerUrl, {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
    })
    worker.unref()
    // One that dies between two schemas is forgotten; an error that nobody listens to would end the service.
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
