import { ToolrackError } from '@toolrack/contract'
import type { Firestore } from 'firebase-admin/firestore'
import { withinMs } from '../../within-ms.ts'
import type { FirestoreRest } from './firestore-rest.ts'

/** How many milliseconds `close` waits for calls that have not ended. */
const CLOSE_MS = 5_000

/**
 * The service's only connection to Firestore. Layers are read by REST, if it is configured. All other calls are made by the
 * client.
 */
export class FirestoreConnection {
  /** Reads layers by REST. If it is undefined, the client reads them. */
  readonly rest: FirestoreRest | undefined
  /** Every call must be registered here, so that the client is not closed before the call has ended. */
  readonly calls = new CallsUnderWay()
  readonly #connect: () => Promise<Firestore>
  #client: Promise<Firestore> | undefined
  #closed: Promise<void> | undefined

  /**
   * `connect` loads the client, which takes longer than loading the rest of the service. So it runs only when the client is
   * needed.
   */
  constructor(connect: () => Promise<Firestore>, rest?: FirestoreRest) {
    this.#connect = connect
    this.rest = rest
  }

  /** Returns the same client each time. Rejects with the error of `connect`. The next call then runs `connect` again. */
  client(): Promise<Firestore> {
    return (this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined
      throw error
    }))
  }

  /** Closes the connection, only once: when its calls have ended, or after `CLOSE_MS`. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined)
    const closed = this.calls.ended().then(() => {
      this.rest?.close()
      return client?.terminate()
    })
    await withinMs(CLOSE_MS, closed).catch(() => undefined)
  }
}

/**
 * Remembers the calls to Firestore that have not ended, even if nobody waits for them. If the client is closed during a call that
 * it would repeat, it raises an error that nobody can catch (`ClientPool.run` in `Firestore.requestStream`).
 */
export class CallsUnderWay {
  readonly #calls = new Set<Promise<unknown>>()

  /** Waits for the result of a call. If it takes more than `ms`, aborts its signal and rejects with STORE_FAILED. */
  async within<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const aborter = new AbortController()
    return withinMs(ms, this.track(call(aborter.signal)), () => {
      const cause = new Error(`no answer within ${ms} ms`)
      const late = new ToolrackError('STORE_FAILED', undefined, { cause })
      aborter.abort(late)
      throw late
    })
  }

  track<T>(call: Promise<T>): Promise<T> {
    const ended = (): void => void this.#calls.delete(call)
    this.#calls.add(call)
    call.then(ended, ended)
    return call
  }

  async ended(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls)
  }
}
