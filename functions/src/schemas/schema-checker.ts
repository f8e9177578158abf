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
  #worker: Promise<Worker> | undefined
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
    const worker = await (this.#worker ??= startWorker(this.#workerUrl))
    const stopWaiting = new AbortController()
    const deadline = setTimeout(() => stopWaiting.abort(), this.#deadlineMs)
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

  async #discard(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.then(
      (started) => started.terminate(),
      () => undefined,
    )
  }
}

/** Without an environment and with a small heap: what runs there was made from an author's schema. */
async function startWorker(url: URL): Promise<Worker> {
  const worker = new Worker(url, {
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
  })
  worker.unref()
  await once(worker, 'message')
  return worker
}
