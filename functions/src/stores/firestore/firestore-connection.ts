import type { Firestore } from 'firebase-admin/firestore'
import { Deadline } from './deadline.ts'
import type { FirestoreRest } from './firestore-rest.ts'

/** How long `close` waits for calls under way, in milliseconds. */
const CLOSE_MS = 5_000

/** The one way to Firestore: a client for everything, and REST for reads of layers where that is set. */
export class FirestoreConnection {
  /** Reads layers. Without it the client reads them too. */
  readonly rest: FirestoreRest | undefined
  /** Every call belongs in here, so that nothing is closed before it has ended. */
  readonly calls = new CallsUnderWay()
  readonly #connect: () => Promise<Firestore>
  #client: Promise<Firestore> | undefined
  #closed: Promise<void> | undefined

  /** `connect` is called at the first use, because the client costs more to load than the rest of the service. It is called again after it has failed. */
  constructor(connect: () => Promise<Firestore>, rest?: FirestoreRest) {
    this.#connect = connect
    this.rest = rest
  }

  /** The same one each time. Rejects as `connect` does. */
  client(): Promise<Firestore> {
    return (this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined
      throw error
    }))
  }

  /** Closes the connection once, after the calls under way. Waits at most `CLOSE_MS` for that. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined)
    const closed = this.calls.ended().then(() => {
      this.rest?.close()
      return client?.terminate()
    })
    const deadline = new Deadline(CLOSE_MS)
    await deadline.race(closed).catch(() => undefined)
    deadline.end()
  }
}

/**
 * Calls to Firestore, whether somebody still waits for them or not. A client that is closed under a call which it would
 * repeat raises an error that nobody can catch (`ClientPool.run` in `Firestore.requestStream`).
 */
export class CallsUnderWay {
  readonly #calls = new Set<Promise<unknown>>()

  /** The call's result, or STORE_FAILED when it takes longer. The call's signal is aborted when nobody waits any more. */
  async within<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = new Deadline(ms)
    try {
      return await deadline.race(this.track(call(deadline.signal)))
    } finally {
      deadline.end()
    }
  }

  track<T>(call: Promise<T>): Promise<T> {
    const ended = (): void => void this.#calls.delete(call)
    this.#calls.add(call)
    call.then(ended, ended)
    return call
  }

  /** Resolves when nothing is under way any more. */
  async ended(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls)
  }
}
