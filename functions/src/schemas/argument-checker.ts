import type { JsonObject } from '@toolrack/contract'
import { DeadlineWorker } from './deadline-worker.ts'

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

const WORKER_URL = new URL(
  `./argument-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
)

/**
 * Checks arguments against their definition's schema in a worker, which keeps what it has compiled. Both are strangers':
 * a schema that compares each element with each other takes minutes over arguments of ordinary size.
 */
export class ArgumentChecker {
  readonly #worker: DeadlineWorker<ArgumentQuestion, ArgumentReport>

  constructor({ deadlineMs = CHECK_MS_MAX, workerUrl = WORKER_URL } = {}) {
    this.#worker = new DeadlineWorker(workerUrl, deadlineMs)
  }

  async check({ digest, text }: CheckedDefinition, args: JsonObject): Promise<ArgumentReport> {
    const answer = await this.#worker.ask({ digest, text, arguments: args })
    if ('report' in answer) return answer.report
    return {
      faults: [
        `the arguments could not be checked against its schema ${answer.fault}; send less, or simplify the schema.`,
      ],
    }
  }

  close(): Promise<void> {
    return this.#worker.close()
  }
}
