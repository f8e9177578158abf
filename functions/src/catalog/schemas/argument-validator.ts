import type { JsonObject } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import type { StoredDefinition } from '../views/layer-source.ts'
import { lightArguments, lightDefinition, type LightDefinition } from './light-work.ts'
import type { ArgumentQuestion, ArgumentReport, createValidateArguments } from './validate-arguments.ts'
import { WorkerPool, workerUrlOf, type Asker, type PoolParts } from './worker-pool.ts'

/** Milliseconds that a check of arguments may take. Even with a schema within all limits, a check can need minutes. */
const DEADLINE_MS = 1_000
/** The most definitions whose calls are counted in memory. */
const KNOWN_MAX = 1_000
/**
 * How many calls of a definition are checked in the other process before the service compiles the schema in its own process. All
 * requests wait during this compilation, and most definitions are called rarely.
 */
const CALLS_BEFORE = 2

type Validate = ReturnType<typeof createValidateArguments>
type Known = { readonly light: LightDefinition | undefined; calls: number }

/**
 * Checks arguments against the schema of their definition. Both come from strangers. A schema that compares each element with all
 * others can need minutes. A schema that finds many errors in each element fills the memory. So another process makes the check
 * and keeps the compiled schemas.
 *
 * If a definition is called often, and `light-work.ts` says that its checks are cheap, the service makes the checks in its own
 * process. The exchange with the other process would take a third of the time of a call.
 */
export class ArgumentValidator extends WorkerPool<ArgumentQuestion, ArgumentReport> {
  readonly #known = new LRUCache<string, Known>({ max: KNOWN_MAX })
  #validateHere: Promise<Validate> | undefined

  constructor({ workerUrl = workerUrlOf('argument-worker'), ...options }: PoolParts = {}) {
    super(workerUrl, { deadlineMs: DEADLINE_MS, ...options })
  }

  /** Checks the arguments of a call. Rejects with the same errors as `WorkerPool.ask`. */
  async validate(
    { digest, text }: Pick<StoredDefinition, 'digest' | 'text'>,
    args: JsonObject,
    asker: Pick<Asker, 'user' | 'signal'>,
  ): Promise<ArgumentReport> {
    const question = { digest, text, arguments: args }
    const values = this.#lightValues(question)
    if (values !== undefined) return (await (this.#validateHere ??= loadValidate()))(question, values)
    const answer = await this.ask(question, asker)
    if ('report' in answer) return answer.report
    return {
      faults: [`The arguments could not be checked ${answer.fault}. Send less, or simplify the schema.`],
    }
  }

  /** The number of values in the arguments, if the service may check them in its own process. Otherwise undefined. */
  #lightValues({ digest, text, arguments: args }: ArgumentQuestion): number | undefined {
    const known = this.#known.get(digest) ?? { light: lightDefinition(text), calls: 0 }
    if (known.calls === 0) this.#known.set(digest, known)
    known.calls += 1
    return known.light && known.calls > CALLS_BEFORE ? lightArguments(args, known.light) : undefined
  }
}

/** Loads `validate-arguments` when it is first needed, because a service that only lists tools does not need Ajv. */
async function loadValidate(): Promise<Validate> {
  const { createValidateArguments } = (await import(workerUrlOf('validate-arguments').href)) as {
    readonly createValidateArguments: () => Validate
  }
  return createValidateArguments()
}
