import { randomBytes } from 'node:crypto'
import type { DocumentReference, Firestore, Transaction } from 'firebase-admin/firestore'
import type { LayerSource } from '../catalog/layer-source.ts'
import type { StoredDefinition } from '../catalog/stored-definition.ts'
import type { StoredLayer } from '../catalog/stored-layer.ts'
import type { DefinitionChange } from '../definitions/definition-change.ts'
import { VERSIONS_KEPT } from '../definitions/definition-store.ts'
import type { ChangeOutcome, DefinitionStore, DefinitionVersion, WriteContext } from '../definitions/definition-store.ts'
import { planWrite } from '../definitions/plan-write.ts'
import type { PlannedChange } from '../definitions/plan-write.ts'
import type { SchemaChecker } from '../schemas/schema-checker.ts'
import { firestoreError } from './firestore-error.ts'
import { FirestoreLayerSource } from './firestore-layer-source.ts'
import { itemsOf, layerDocument, versionsOf } from './layer-paths.ts'
import { isItemDocument, isLayerDocument } from './stored-documents.ts'
import type { ItemDocument, LayerDocument, VersionDocument } from './stored-documents.ts'
import { revisionText, storedDefinition } from './stored-definition.ts'

/** Writers of one layer meet at its revision; each gets this many turns before it gives up with STORE_BUSY. */
const ATTEMPTS_MAX = 20

export type FirestoreStoreParts = {
  /** Called once, at the first use: the client costs more to load than the rest of the service. */
  readonly connect: () => Promise<Firestore>
  readonly checker: SchemaChecker
  readonly now?: () => number
}

/** The store in the cloud: one document a definition, the layer's revision raised in the same transaction. */
export class FirestoreDefinitionStore implements DefinitionStore {
  readonly #parts: FirestoreStoreParts
  readonly #turns = new Map<string, Promise<void>>()
  #connection: Promise<Firestore> | undefined

  constructor(parts: FirestoreStoreParts) {
    this.#parts = parts
  }

  layer(layer: StoredLayer): LayerSource {
    let source: Promise<FirestoreLayerSource> | undefined
    const connect = async (): Promise<FirestoreLayerSource> => {
      const firestore = await this.#connect()
      const { checker, now = () => performance.now() } = this.#parts
      return new FirestoreLayerSource({ firestore, layer: layerDocument(firestore, layer), checker, now })
    }
    return { read: async (since) => (await (source ??= connect())).read(since) }
  }

  async write(layer: StoredLayer, changes: readonly DefinitionChange[], context: WriteContext): Promise<readonly ChangeOutcome[]> {
    const firestore = await this.#connect()
    const document = layerDocument(firestore, layer)
    return this.#inTurn(document.path, async () => {
      try {
        return await firestore.runTransaction((transaction) => write(transaction, document, changes, context), {
          maxAttempts: ATTEMPTS_MAX,
        })
      } catch (error) {
        throw firestoreError(error)
      }
    })
  }

  async versions(layer: StoredLayer, name: string): Promise<readonly DefinitionVersion[]> {
    const firestore = await this.#connect()
    const document = layerDocument(firestore, layer)
    try {
      const [state, versions] = await Promise.all([
        document.get(),
        versionsOf(itemsOf(document).doc(name)).orderBy('revision', 'desc').limit(VERSIONS_KEPT).get(),
      ])
      const { epoch } = layerState(state.data())
      return versions.docs.map((version) => definitionVersion(version.data() as VersionDocument, epoch))
    } catch (error) {
      throw firestoreError(error)
    }
  }

  async close(): Promise<void> {
    await (await this.#connection)?.terminate()
  }

  /** Writers of one layer in this process wait for each other here, which is cheaper than losing transactions. */
  async #inTurn<T>(path: string, act: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(path) ?? Promise.resolve()
    const turn = before.then(act)
    const settled = turn.then(
      () => undefined,
      () => undefined,
    )
    this.#turns.set(path, settled)
    try {
      return await turn
    } finally {
      if (this.#turns.get(path) === settled) this.#turns.delete(path)
    }
  }

  #connect(): Promise<Firestore> {
    return (this.#connection ??= this.#parts.connect())
  }
}

/** Reads what the changes are about, lets `planWrite` decide, and writes everything or nothing. May run several times. */
async function write(
  transaction: Transaction,
  document: DocumentReference,
  changes: readonly DefinitionChange[],
  context: WriteContext,
): Promise<readonly ChangeOutcome[]> {
  const references = changes.map(({ name }) => itemsOf(document).doc(name))
  const [layer, ...items] = await transaction.getAll(document, ...references)
  const state = layerState(layer?.data())
  const found = items.map((item) => item.data()).filter(isItemDocument)
  const present = found.flatMap((item) => storedDefinition(item, state.epoch))
  const current = new Map(present.map((stored): [string, StoredDefinition] => [stored.name, stored]))
  const before = new Map(found.map((item): [string, ItemDocument] => [item.name, item]))
  const planned = planWrite(changes, current, state.size, context.definitionsMax)
  const revision = state.revision + 1
  const next: LayerDocument = { ...state, revision, size: state.size + sizeChange(planned) }
  const outcomes = planned.map(({ change, outcome }): ChangeOutcome => {
    const stored = current.get(change.name)
    if (stored && (outcome === 'unchanged' || outcome === 'skipped')) {
      return { name: change.name, outcome, digest: stored.digest, revision: stored.revision }
    }
    const item = put(transaction, itemsOf(document).doc(change.name), before.get(change.name), change, revision, context)
    return { name: change.name, outcome, digest: item.digest, revision: revisionText(revision, state.epoch) }
  })
  if (outcomes.some((outcome) => outcome.revision === revisionText(revision, state.epoch))) transaction.set(document, next)
  return outcomes
}

function put(
  transaction: Transaction,
  reference: DocumentReference,
  before: ItemDocument | undefined,
  change: DefinitionChange,
  revision: number,
  { by, at }: WriteContext,
): ItemDocument {
  const digest = change.kind === 'put' ? change.digest : before?.digest
  if (!digest) throw new Error('a deletion was planned for a name that is not there')
  const text = change.kind === 'put' ? change.text : null
  const when = at.toISOString()
  const versions = [...(before?.versions ?? []), revision]
  const version: VersionDocument = { revision, text, digest: text === null ? null : digest, at: when, by }
  transaction.set(versionsOf(reference).doc(String(revision)), version)
  for (const dropped of versions.slice(0, -VERSIONS_KEPT)) transaction.delete(versionsOf(reference).doc(String(dropped)))
  const item: ItemDocument = {
    name: change.name,
    text,
    digest,
    revision,
    updatedAt: when,
    updatedBy: by,
    versions: versions.slice(-VERSIONS_KEPT),
  }
  transaction.set(reference, item)
  return item
}

function sizeChange(planned: readonly PlannedChange[]): number {
  return planned.reduce((sum, { outcome }) => sum + (outcome === 'created' ? 1 : outcome === 'deleted' ? -1 : 0), 0)
}

/** A layer's epoch is drawn when it is first written: a new database never repeats an old one's revisions. */
function layerState(data: Readonly<Record<string, unknown>> | undefined): LayerDocument {
  return isLayerDocument(data) ? data : { epoch: randomBytes(6).toString('hex'), revision: 0, size: 0 }
}

function definitionVersion(version: VersionDocument, epoch: string): DefinitionVersion {
  const { revision, text, digest, at, by } = version
  return { revision: revisionText(revision, epoch), ...(text !== null && digest !== null && { text, digest }), at, by }
}
