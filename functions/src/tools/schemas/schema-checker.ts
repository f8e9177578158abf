import type { JsonObject } from '@toolrack/contract'
import type { CompileReport } from './compile-schema.ts'
import { SCHEMA_LIMITS } from './schema-limits.ts'
import { WorkerProcess } from './worker-process.ts'
import type { AskOptions, WorkerOptions } from './worker-process.ts'

const WORKER_URL = new URL(
  `./schema-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
)

/** Compiles one schema. Rejects as `WorkerProcess.ask` does. */
export type SchemaCompiler = { compile(schema: JsonObject): Promise<CompileReport> }

/** Compiles schemas in a process of its own, which is killed and replaced when one takes too long. */
export class SchemaChecker implements SchemaCompiler {
  /** For files and documents that the service reads by itself: they wait behind any number of others and are never refused for it. */
  readonly patient: SchemaCompiler = { compile: (schema) => this.#compile(schema, { waitsBehindAll: true }) }
  readonly #worker: WorkerProcess<string, CompileReport>

  constructor({
    workerUrl = WORKER_URL,
    ...options
  }: Partial<WorkerOptions> & { readonly workerUrl?: URL } = {}) {
    this.#worker = new WorkerProcess(workerUrl, { deadlineMs: SCHEMA_LIMITS.compileMsMax, ...options })
  }

  compile(schema: JsonObject): Promise<CompileReport> {
    return this.#compile(schema)
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  async #compile(schema: JsonObject, options?: AskOptions): Promise<CompileReport> {
    const answer = await this.#worker.ask(JSON.stringify(schema), options)
    if ('report' in answer) return answer.report
    const message = `the schema could not be compiled ${answer.fault}; simplify it`
    return { faults: [{ pointer: '', message }], unenforced: [] }
  }
}
