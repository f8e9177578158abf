import type { JsonObject } from '@toolrack/contract'
import type { QueueState } from '../../fair-queue.ts'
import type { CompileReport } from './compile-schema.ts'
import { SCHEMA_LIMITS } from './schema-limits.ts'
import { WorkerPool } from './worker-pool.ts'
import type { Asker, PoolOptions } from './worker-pool.ts'

const WORKER_URL = new URL(
  `./schema-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
)

/** Compiles one schema. Rejects as `WorkerPool.ask` does. */
export type SchemaCompiler = { compile(schema: JsonObject): Promise<CompileReport> }

/** Whose request it is; `signal` is aborted when the caller has gone. */
export type SchemaCaller = { readonly user: string; readonly signal?: AbortSignal | undefined }

/** Compiles the schemas of one request. */
export type RequestCompiler = SchemaCompiler & {
  readonly caller: SchemaCaller
  /** Milliseconds that its schemas have taken so far, without the time that they waited for others. */
  readonly spentMs: number
}

/** Compiles schemas in processes of their own, which are killed and replaced when one takes too long. */
export class SchemaChecker {
  /** For files and documents that the service reads by itself: any number of them waits, and takes turns with callers. */
  readonly own: SchemaCompiler = { compile: (schema) => this.#compile(schema, { user: null }) }
  readonly #pool: WorkerPool<string, CompileReport>

  constructor({
    workerUrl = WORKER_URL,
    ...options
  }: Partial<PoolOptions> & { readonly workerUrl?: URL } = {}) {
    this.#pool = new WorkerPool(workerUrl, { deadlineMs: SCHEMA_LIMITS.compileMsMax, ...options })
  }

  get state(): QueueState {
    return this.#pool.state
  }

  /** For one request of a caller. */
  forCaller(caller: SchemaCaller): RequestCompiler {
    let spentMs = 0
    const spent = (ms: number): void => void (spentMs += ms)
    return {
      caller,
      compile: (schema) => this.#compile(schema, { ...caller, spent }),
      get spentMs() {
        return spentMs
      },
    }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #compile(schema: JsonObject, asker: Asker): Promise<CompileReport> {
    const answer = await this.#pool.ask(JSON.stringify(schema), asker)
    if ('report' in answer) return answer.report
    const message = `the schema could not be compiled ${answer.fault}; simplify it`
    return { faults: [{ pointer: '', message }], unenforced: [] }
  }
}
