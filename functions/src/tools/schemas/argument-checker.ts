import type { JsonObject } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import type { QueueState } from '../../fair-queue.ts'
import { lightDefinition, lightArguments } from './light-work.ts'
import type { LightDefinition } from './light-work.ts'
import type { createArgumentValidator } from './validate-arguments.ts'
import { WorkerPool } from './worker-pool.ts'
import type { Asker, PoolOptions } from './worker-pool.ts'

/** How long arguments may take to be checked: a schema inside every limit can still ask for more work than anybody waits for. */
const CHECK_MS_MAX = 1_000

/** A definition as it is stored: its text and the digest of it. */
export type CheckedDefinition = { readonly digest: string; readonly text: string }

export type ArgumentReport = {
  /** Sentences for who made the call, without a value of theirs; none when the arguments fit. */
  readonly faults: readonly string[]
}

/** What the worker is asked. */
export type ArgumentQuestion = CheckedDefinition & { readonly arguments: JsonObject }

const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const WORKER_URL = new URL(`./argument-worker.${EXTENSION}`, import.meta.url)
/** Loaded by path, as the worker is: a service that only lists needs no validator. */
const VALIDATOR_URL = new URL(`./validate-arguments.${EXTENSION}`, import.meta.url)

/** Definitions whose calls are counted. */
const KNOWN_MAX = 1_000
/** Calls before a schema is compiled where everybody waits for it: most definitions are hardly ever called. */
const CALLS_BEFORE = 2

type Validate = ReturnType<typeof createArgumentValidator>
type Known = { readonly light: LightDefinition | undefined; calls: number }

/**
 * Checks arguments against their definition's schema. Both are strangers': a schema that compares each element with each
 * other takes minutes over arguments of ordinary size, and one that finds fault with each in many ways fills the memory.
 * So they are checked in processes of their own, which keep what they have compiled. What is called often and is surely little
 * work (`light-work.ts`) is checked here, for the way to the process and back is a third of what a call costs.
 */
export class ArgumentChecker {
  readonly #pool: WorkerPool<ArgumentQuestion, ArgumentReport>
  readonly #known = new LRUCache<string, Known>({ max: KNOWN_MAX })
  #validate: Promise<Validate> | undefined

  constructor({
    workerUrl = WORKER_URL,
    ...options
  }: Partial<PoolOptions> & { readonly workerUrl?: URL } = {}) {
    this.#pool = new WorkerPool(workerUrl, { deadlineMs: CHECK_MS_MAX, ...options })
  }

  get state(): QueueState {
    return this.#pool.state
  }

  /** Rejects as `WorkerPool.ask` does. */
  async check(
    { digest, text }: CheckedDefinition,
    args: JsonObject,
    asker: Pick<Asker, 'user' | 'signal'>,
  ): Promise<ArgumentReport> {
    const question = { digest, text, arguments: args }
    const values = this.#lightValues(question)
    if (values !== undefined) return (await (this.#validate ??= loadValidator()))(question, values)
    const answer = await this.#pool.ask(question, asker)
    if ('report' in answer) return answer.report
    return {
      faults: [
        `the arguments could not be checked against its schema ${answer.fault}; send less, or simplify the schema.`,
      ],
    }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  /** How many values the arguments hold, where checking them here is surely little work. */
  #lightValues({ digest, text, arguments: args }: ArgumentQuestion): number | undefined {
    const known = this.#known.get(digest) ?? { light: lightDefinition(text), calls: 0 }
    if (known.calls === 0) this.#known.set(digest, known)
    known.calls += 1
    if (!known.light || known.calls <= CALLS_BEFORE) return undefined
    return lightArguments(args, known.light)
  }
}

async function loadValidator(): Promise<Validate> {
  const { createArgumentValidator } = (await import(VALIDATOR_URL.href)) as {
    readonly createArgumentValidator: () => Validate
  }
  return createArgumentValidator()
}
