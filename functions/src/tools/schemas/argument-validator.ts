import type { JsonObject } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import type { StoredDefinition } from '../catalog/layer-source.ts'
import { lightArguments, lightDefinition, type LightDefinition } from './light-work.ts'
import type * as validation from './validate-arguments.ts'
import { WorkerPool, workerUrlOf, type Asker, type PoolParts } from './worker-pool.ts'

/** Milliseconds that a check of arguments may take. Even a schema within all limits can need minutes. */
const DEADLINE_MS = 1_000
const KNOWN_MAX = 1_000
/** Calls after which the service itself compiles a schema. All requests wait for that, and most definitions get fewer calls. */
const CALLS_BEFORE = 2

type Question = validation.ArgumentQuestion
type Report = validation.ArgumentReport
type Known = { readonly light: LightDefinition | undefined; calls: number }

/**
 * Checks arguments against the schema of their definition, in another process, which keeps the compiled schemas. Both come from
 * strangers. A schema that compares all elements takes minutes, and one that finds many errors in each element fills the memory.
 *
 * If a definition is called often and its checks are certainly cheap (`light-work.ts`), the service checks in its own process,
 * because the exchange with the other process takes a third of the time of a call.
 */
export class ArgumentValidator extends WorkerPool<Question, Report> {
  readonly #known = new LRUCache<string, Known>({ max: KNOWN_MAX })
  /** Loaded when it is first needed, because a service that only lists tools does not need Ajv. */
  #validation: Promise<typeof validation> | undefined

  constructor({ workerUrl = workerUrlOf('argument-worker'), ...options }: PoolParts = {}) {
    super(workerUrl, { deadlineMs: DEADLINE_MS, ...options })
  }

  /** Rejects as `WorkerPool.ask` does. */
  async validate(
    { digest, text }: Pick<StoredDefinition, 'digest' | 'text'>,
    args: JsonObject,
    asker: Pick<Asker, 'user' | 'signal'>,
  ): Promise<Report> {
    const question = { digest, text, arguments: args }
    const values = this.#lightValues(question)
    if (values !== undefined) {
      this.#validation ??= import(workerUrlOf('validate-arguments').href) as Promise<typeof validation>
      return (await this.#validation).validateArguments(question, values)
    }
    const answer = await this.ask(question, asker)
    if ('report' in answer) return answer.report
    return {
      faults: [`The arguments could not be checked ${answer.fault}. Send less, or simplify the schema.`],
    }
  }

  /** The number of values in the arguments. Undefined if the service must not check them in its own process. */
  #lightValues({ digest, text, arguments: args }: Question): number | undefined {
    const known = this.#known.get(digest) ?? { light: lightDefinition(text), calls: 0 }
    if (known.calls === 0) this.#known.set(digest, known)
    known.calls += 1
    return known.light && known.calls > CALLS_BEFORE ? lightArguments(args, known.light) : undefined
  }
}
