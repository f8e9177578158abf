import { ToolrackError, type JsonObject } from '@toolrack/contract'
import type { CompileReport } from './enforceable-schema.ts'
import { WorkerPool, workerUrlOf, type Asker, type PoolParts } from './worker-pool.ts'

/** Milliseconds that one schema may take to compile. 600 properties take 800 ms in a new process on a busy machine. */
const DEADLINE_MS = 2_000
/**
 * Milliseconds that all schemas of one request may take together. The time in which they wait for other requests does not count.
 * 200 schemas of 2 s each would take seven minutes. The platform ends a function's request after 60 s.
 */
const REQUEST_MS_MAX = 20_000

/** `compile` rejects with the same errors as `WorkerPool.ask`. */
export type SchemaCompiler = { compile(schema: JsonObject): Promise<CompileReport> }

export type RequestCompiler = SchemaCompiler & {
  /**
   * Must be called before each definition, with the number of definitions that are already checked. Throws SCHEMA_REJECTED if the
   * time of the request is used up. Throws CANCELLED if the caller has disconnected; nobody reads this error.
   */
  readonly goOn: (checked: number, all: number) => void
}

/** Makes schema compilers that share processes. If a compilation takes too much time, its process is killed and replaced. */
export class SchemaCompilers extends WorkerPool<string, CompileReport> {
  /**
   * The compiler for files and documents that the service reads by itself. These schemas take turns with those of users. Any
   * number of them may wait.
   */
  readonly own: SchemaCompiler = { compile: (schema) => this.#compile(schema, { user: null }) }

  constructor({ workerUrl = workerUrlOf('schema-worker'), ...options }: PoolParts = {}) {
    super(workerUrl, { deadlineMs: DEADLINE_MS, ...options })
  }

  /** The compiler of one request. `signal` is aborted when the caller has disconnected. */
  forCaller(caller: { readonly user: string; readonly signal?: AbortSignal | undefined }): RequestCompiler {
    let spentMs = 0
    const spent = (ms: number): void => void (spentMs += ms)
    return {
      compile: (schema) => this.#compile(schema, { ...caller, spent }),
      goOn: (checked, all) => {
        if (caller.signal?.aborted) throw new ToolrackError('CANCELLED')
        if (spentMs < REQUEST_MS_MAX) return
        const spent = `${checked} of ${all} definitions were checked in ${REQUEST_MS_MAX / 1_000} s`
        const message = `${spent}, which is all that one request may take. Nothing was written. Send fewer definitions at a time, or simplify their schemas.`
        throw new ToolrackError('SCHEMA_REJECTED', message)
      },
    }
  }

  async #compile(schema: JsonObject, asker: Asker): Promise<CompileReport> {
    const answer = await this.ask(JSON.stringify(schema), asker)
    if ('report' in answer) return answer.report
    const message = `the schema could not be compiled ${answer.fault}; simplify it`
    return { faults: [{ pointer: '', message }], unenforced: [], undecided: true }
  }
}
