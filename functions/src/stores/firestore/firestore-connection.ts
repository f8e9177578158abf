import type { Firestore } from 'firebase-admin/firestore'
import { CallsUnderWay } from './calls-under-way.ts'
import { Deadline } from './deadline.ts'
import type { FirestoreRest } from './firestore-rest.ts'

/** How long an end waits for calls that are still under way, in milliseconds. */
const CLOSE_MS = 5_000

/** How Firestore is asked, by everything that asks it: one client, and layers by REST where that is set. */
export class FirestoreConnection {
  /** What reads layers; without it the client reads them too. */
  readonly rest: FirestoreRest | undefined
  /** Everything that is asked belongs in here: nothing is closed before it has ended. */
  readonly calls = new CallsUnderWay()
  readonly #connect: () => Promise<Firestore>
  #client: Promise<Firestore> | undefined
  #closed: Promise<void> | undefined

  /** `connect` is called at the first use: the client costs more to load than the rest of the service. Again after it has failed. */
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

  /** Closes it once, however many have asked by it. Returns without the calls that go on for longer; then it is closed after them. */
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
