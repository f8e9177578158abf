import type { DocumentReference } from 'firebase-admin/firestore'
import type { LayerSource } from '../../tools/catalog/layer-source.ts'
import type { StoredLayer } from '../../tools/catalog/layer-source.ts'
import type { DefinitionChange } from '../../tools/definitions/definition-change.ts'
import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import type { DefinitionStore, DefinitionVersion } from '../../tools/definitions/definition-store.ts'
import type {
  ModuleChange,
  ModuleOutcome,
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../tools/modules/module-store.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { ClientLayerReader } from './client-layer-reader.ts'
import { Deadline } from './deadline.ts'
import { DefinitionWrite } from './definition-write.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError, unconfirmed } from './firestore-error.ts'
import { readModule, readModules, readModuleVersions, readSource } from './firestore-modules.ts'
import { FirestoreLayerSource } from './firestore-layer-source.ts'
import { foundDocument } from './found-document.ts'
import { STORE_DEADLINES } from './firestore-settings.ts'
import type { StoreDeadlines } from './firestore-settings.ts'
import { itemsOf, layerDocument, layerSegments, versionsOf } from './layer-paths.ts'
import { ModuleWrite } from './module-write.ts'
import { RestLayerReader } from './rest-layer-reader.ts'
import { layerState, versionDocument } from './stored-documents.ts'
import type { StoreWrite } from './store-write.ts'
import type { VersionDocument } from './stored-documents.ts'
import { Turns } from './turns.ts'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import type { ChangeOutcome, WriteContext } from '../../tools/definitions/write-outcome.ts'

/** Writers of one layer meet at its revision; each gets this many turns before it gives up with STORE_BUSY. */
const ATTEMPTS_MAX = 20

export type FirestoreStoreParts = {
  readonly connection: FirestoreConnection
  readonly compilers: SchemaCompilers
  readonly deadlines?: StoreDeadlines
  readonly now?: () => number
}

/** The store in the cloud: one document a definition, the layer's revision raised in the same transaction. */
export class FirestoreDefinitionStore implements DefinitionStore {
  readonly #parts: FirestoreStoreParts
  readonly #deadlines: StoreDeadlines
  readonly #turns = new Turns()

  constructor(parts: FirestoreStoreParts) {
    this.#parts = parts
    this.#deadlines = parts.deadlines ?? STORE_DEADLINES
  }

  layer(layer: StoredLayer): LayerSource {
    const { connection, compilers, now = () => performance.now() } = this.#parts
    const { rest, calls } = connection
    return new FirestoreLayerSource({
      reader: rest
        ? new RestLayerReader(rest, layer)
        : new ClientLayerReader(() => this.#layerDocument(layer)),
      compilers,
      calls,
      deadlines: this.#deadlines,
      now,
    })
  }

  write(
    layer: StoredLayer,
    changes: readonly DefinitionChange[],
    context: WriteContext,
  ): Promise<readonly ChangeOutcome[]> {
    const { compilers } = this.#parts
    return this.#write(layer, (document) => new DefinitionWrite(document, changes, context, compilers))
  }

  writeModule(layer: StoredLayer, change: ModuleChange, context: WriteContext): Promise<ModuleOutcome> {
    const { compilers } = this.#parts
    return this.#write(layer, (document) => new ModuleWrite(document, change, context, compilers))
  }

  versions(layer: StoredLayer, name: string): Promise<readonly DefinitionVersion[]> {
    return this.#read(layer, (document) => definitionVersions(document, name))
  }

  module(layer: StoredLayer, name: string): Promise<StoredModule | undefined> {
    return this.#read(layer, (document) => readModule(document, name))
  }

  modules(layer: StoredLayer, page: ModulePage): Promise<readonly ModuleSummary[]> {
    return this.#read(layer, (document) => readModules(document, page))
  }

  moduleVersions(layer: StoredLayer, name: string): Promise<readonly ModuleVersion[]> {
    return this.#read(layer, (document) => readModuleVersions(document, name))
  }

  source(layer: StoredLayer, sha256: string): Promise<string | undefined> {
    return this.#read(layer, (document) => readSource(document, sha256))
  }

  close(): Promise<void> {
    return this.#parts.connection.close()
  }

  async #write<T>(layer: StoredLayer, writeOf: (document: DocumentReference) => StoreWrite<T>): Promise<T> {
    let write: StoreWrite<T> | undefined
    const act = async (): Promise<T> => {
      const deadline = new Deadline(this.#deadlines.writeMs)
      try {
        const document = await deadline.race(this.#layerDocument(layer))
        write = writeOf(document)
        return await deadline.race(this.#parts.connection.calls.track(attempt(document, write, deadline)))
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

  async #read<T>(layer: StoredLayer, read: (document: DocumentReference) => Promise<T>): Promise<T> {
    try {
      return await this.#parts.connection.calls.within(this.#deadlines.readMs, async () =>
        read(await this.#layerDocument(layer)),
      )
    } catch (error) {
      throw firestoreError(error)
    }
  }

  async #layerDocument(layer: StoredLayer): Promise<DocumentReference> {
    try {
      return layerDocument(await this.#parts.connection.client(), layer)
    } catch (error) {
      throw firestoreError(error)
    }
  }
}

/** Nothing is tried once nobody waits for it: a write that was reported as failed must not happen later. */
function attempt<T>(document: DocumentReference, write: StoreWrite<T>, deadline: Deadline): Promise<T> {
  async function once(...[transaction]: Parameters<StoreWrite<T>['attempt']>): Promise<T> {
    if (deadline.isOver) throw new LateError()
    const outcome = await write.attempt(transaction)
    if (deadline.isOver) throw new LateError()
    return outcome
  }
  return document.firestore.runTransaction(once, { maxAttempts: ATTEMPTS_MAX })
}

/** Ends the attempts of a write that nobody waits for any more. */
class LateError extends Error {}

async function definitionVersions(
  document: DocumentReference,
  name: string,
): Promise<readonly DefinitionVersion[]> {
  const newestFirst = versionsOf(itemsOf(document).doc(name)).orderBy('revision', 'desc')
  const [state, versions] = await Promise.all([document.get(), newestFirst.limit(VERSIONS_KEPT).get()])
  const epoch = layerState(foundDocument(state))?.epoch ?? ''
  return versions.docs
    .flatMap((version) => versionDocument(foundDocument(version)) ?? [])
    .map((version) => definitionVersion(version, epoch))
}

function definitionVersion(version: VersionDocument, epoch: string): DefinitionVersion {
  const { revision, text, digest, at, by } = version
  return {
    revision: revisionText(revision, epoch),
    ...(text !== null && digest !== null && { text, digest }),
    at,
    by,
  }
}
