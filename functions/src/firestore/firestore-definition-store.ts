import type { DocumentReference, Firestore } from 'firebase-admin/firestore'
import type { LayerSource } from '../catalog/layer-source.ts'
import type { StoredLayer } from '../catalog/stored-layer.ts'
import type { DefinitionChange } from '../definitions/definition-change.ts'
import { VERSIONS_KEPT } from '../definitions/definition-store.ts'
import type {
  ChangeOutcome,
  DefinitionStore,
  DefinitionVersion,
  WriteContext,
} from '../definitions/definition-store.ts'
import type { SchemaChecker } from '../schemas/schema-checker.ts'
import { CallsUnderWay } from './calls-under-way.ts'
import { ClientLayerReader } from './client-layer-reader.ts'
import { Deadline } from './deadline.ts'
import { DefinitionWrite } from './definition-write.ts'
import { firestoreError, unconfirmed } from './firestore-error.ts'
import { FirestoreLayerSource } from './firestore-layer-source.ts'
import type { FirestoreRest } from './firestore-rest.ts'
import { foundDocument } from './found-document.ts'
import { STORE_DEADLINES } from './firestore-settings.ts'
import type { StoreDeadlines } from './firestore-settings.ts'
import { itemsOf, layerDocument, layerSegments, versionsOf } from './layer-paths.ts'
import { RestLayerReader } from './rest-layer-reader.ts'
import { layerState, versionDocument } from './stored-documents.ts'
import type { VersionDocument } from './stored-documents.ts'
import { Turns } from './turns.ts'
import { revisionText } from '../definitions/layer-revision.ts'

/** Writers of one layer meet at its revision; each gets this many turns before it gives up with STORE_BUSY. */
const ATTEMPTS_MAX = 20

/** How long an end waits for calls that are still under way, in milliseconds. */
const CLOSE_MS = 5_000

export type FirestoreStoreParts = {
  /** Called at the first use: the client costs more to load than the rest of the service. Again after it has failed. */
  readonly connect: () => Promise<Firestore>
  /** What layers are read by; without it the client reads them too. */
  readonly rest?: FirestoreRest | undefined
  readonly checker: SchemaChecker
  readonly deadlines?: StoreDeadlines
  readonly now?: () => number
}

/** The store in the cloud: one document a definition, the layer's revision raised in the same transaction. */
export class FirestoreDefinitionStore implements DefinitionStore {
  readonly #parts: FirestoreStoreParts
  readonly #deadlines: StoreDeadlines
  readonly #turns = new Turns()
  readonly #calls = new CallsUnderWay()
  #connection: Promise<Firestore> | undefined

  constructor(parts: FirestoreStoreParts) {
    this.#parts = parts
    this.#deadlines = parts.deadlines ?? STORE_DEADLINES
  }

  layer(layer: StoredLayer): LayerSource {
    const { rest, checker, now = () => performance.now() } = this.#parts
    return new FirestoreLayerSource({
      reader: rest
        ? new RestLayerReader(rest, layer)
        : new ClientLayerReader(() => this.#layerDocument(layer)),
      checker,
      calls: this.#calls,
      deadlines: this.#deadlines,
      now,
    })
  }

  async write(
    layer: StoredLayer,
    changes: readonly DefinitionChange[],
    context: WriteContext,
  ): Promise<readonly ChangeOutcome[]> {
    let write: DefinitionWrite | undefined
    const act = async (): Promise<readonly ChangeOutcome[]> => {
      const deadline = new Deadline(this.#deadlines.writeMs)
      try {
        const document = await deadline.race(this.#layerDocument(layer))
        write = new DefinitionWrite(document, changes, context, this.#parts.checker)
        return await deadline.race(this.#calls.track(attempt(document, write, deadline)))
      } finally {
        deadline.end()
      }
    }
    try {
      // Cheaper than losing transactions to each other.
      return await this.#turns.take(layerSegments(layer).join('/'), this.#deadlines.turnMs, act)
    } catch (error) {
      throw write?.isUnconfirmed ? unconfirmed(error) : firestoreError(error)
    }
  }

  async versions(layer: StoredLayer, name: string): Promise<readonly DefinitionVersion[]> {
    try {
      return await this.#calls.within(this.#deadlines.readMs, () => this.#versions(layer, name))
    } catch (error) {
      throw firestoreError(error)
    }
  }

  /** Returns without the calls that go on for longer; then the client is closed after them. */
  async close(): Promise<void> {
    const firestore = await this.#connection?.catch(() => undefined)
    const closed = this.#calls.ended().then(() => {
      this.#parts.rest?.close()
      return firestore?.terminate()
    })
    const deadline = new Deadline(CLOSE_MS)
    await deadline.race(closed).catch(() => undefined)
    deadline.end()
  }

  async #versions(layer: StoredLayer, name: string): Promise<readonly DefinitionVersion[]> {
    const document = await this.#layerDocument(layer)
    const newestFirst = versionsOf(itemsOf(document).doc(name)).orderBy('revision', 'desc')
    const [state, versions] = await Promise.all([document.get(), newestFirst.limit(VERSIONS_KEPT).get()])
    const epoch = layerState(foundDocument(state))?.epoch ?? ''
    return versions.docs
      .flatMap((version) => versionDocument(foundDocument(version)) ?? [])
      .map((version) => definitionVersion(version, epoch))
  }

  async #layerDocument(layer: StoredLayer): Promise<DocumentReference> {
    this.#connection ??= this.#connect()
    return layerDocument(await this.#connection, layer)
  }

  async #connect(): Promise<Firestore> {
    try {
      return await this.#parts.connect()
    } catch (error) {
      this.#connection = undefined
      throw firestoreError(error)
    }
  }
}

/** Nothing is tried once nobody waits for it: a write that was reported as failed must not happen later. */
function attempt(
  document: DocumentReference,
  write: DefinitionWrite,
  deadline: Deadline,
): Promise<readonly ChangeOutcome[]> {
  async function once(
    ...[transaction]: Parameters<DefinitionWrite['attempt']>
  ): Promise<readonly ChangeOutcome[]> {
    if (deadline.isOver) throw new LateError()
    const outcomes = await write.attempt(transaction)
    if (deadline.isOver) throw new LateError()
    return outcomes
  }
  return document.firestore.runTransaction(once, { maxAttempts: ATTEMPTS_MAX })
}

/** Ends the attempts of a write that nobody waits for any more. */
class LateError extends Error {}

function definitionVersion(version: VersionDocument, epoch: string): DefinitionVersion {
  const { revision, text, digest, at, by } = version
  return {
    revision: revisionText(revision, epoch),
    ...(text !== null && digest !== null && { text, digest }),
    at,
    by,
  }
}
