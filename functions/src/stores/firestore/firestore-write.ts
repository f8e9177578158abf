import { randomUUID } from 'node:crypto'
import type { DocumentReference, DocumentSnapshot, Query, Transaction } from 'firebase-admin/firestore'
import { AGES, type Age, type KeptName, type LayerChanges } from '../../catalog/definitions/layer-changes.ts'
import type { RecordKind } from '../../catalog/definitions/layer-changes.ts'
import type { FoundDefinition, FoundModule, LayerWrite } from '../../catalog/definitions/layer-write.ts'
import { moduleSummary, parseRevocation, storedDefinition } from '../../catalog/definitions/stored-records.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import { foreignDefinition } from './foreign-documents.ts'
import { itemsOf, modulesOf, recordOf, versionsOf } from './layer-paths.ts'
import { readLayerState } from './read-layer-state.ts'
import { foundDocument, itemDocument, keptItem } from './stored-documents.ts'
import { keptModule, keptName, moduleDocument, type ModuleDocument } from './stored-documents.ts'
import { writeChanges, type ForeignDocument } from './write-changes.ts'

/**
 * How many names the answer to one query has at most. Few, so that a write that needs room reads few names more than it needs.
 */
const NAMES_AT_ONCE = 50
/**
 * The most queries of one write, for each collection and each order of `AGES`. If there is still no room, the next write
 * continues.
 */
const QUESTIONS_MAX = 10

/** One write of a layer. Firestore may run several attempts of it, of which at most one is committed. */
export class FirestoreWrite<Result> {
  readonly #layer: DocumentReference
  readonly #write: LayerWrite<Result>
  readonly #compilers: SchemaCompilers
  readonly #id = randomUUID()
  /** The last attempt whose commit was sent. If this commit was done, the document `proof` has the id of this write. */
  #sent: { readonly result: Result; readonly proof: DocumentReference } | undefined

  constructor(layer: DocumentReference, write: LayerWrite<Result>, compilers: SchemaCompilers) {
    this.#layer = layer
    this.#write = write
    this.#compilers = compilers
  }

  /** True if a commit was sent and it is not known whether it was done. */
  get isUnconfirmed(): boolean {
    return this.#sent !== undefined
  }

  /** Reads the records that the write needs, plans the write, and writes all of its changes or none. */
  async attempt(transaction: Transaction): Promise<Result> {
    const write = this.#write
    const layer = this.#layer
    const isOfModule = write.module !== undefined
    const asked = isOfModule
      ? [modulesOf(layer).doc(write.module)]
      : this.#items(write.definitions(undefined))
    const proof = this.#sent ? [this.#sent.proof] : []
    const [document, ...found] = await transaction.getAll(layer, ...asked, ...proof)
    if (this.#sent && found.pop()?.get('writeId') === this.#id) return this.#sent.result
    this.#sent = undefined

    const { state, uncounted } = await readLayerState(transaction, layer, document)
    const stored = isOfModule && found[0] ? moduleDocument(found[0]) : undefined
    const module = stored && foundModule(stored, state.epoch)
    const [first, ...rest] = isOfModule ? this.#items(write.definitions(module)) : []
    const items = isOfModule ? (first ? await transaction.getAll(first, ...rest) : []) : found
    const foreign = new Map<string, ForeignDocument>()
    const definitions = new Map<string, FoundDefinition>()
    for (const item of items) definitions.set(item.id, await this.#definitionIn(item, state.epoch, foreign))

    const { result, changes } = write.plan({ state, module, definitions })
    if (!changes) return result
    changes.consider(uncounted)
    await makeRoom(transaction, layer, changes)
    await writeChanges(transaction, layer, { changes, uncounted, foreign, writeId: this.#id })
    // New grants make no version. If they are all that is written, a repeated attempt finds them and changes nothing.
    const written = changes.records.find(({ content }) => content && content.kind !== 'grants')
    if (!written) return result
    const versions = versionsOf(recordOf(layer, written.name))
    this.#sent = { result, proof: versions.doc(String(changes.state.revision)) }
    return result
  }

  #items(names: readonly string[]): DocumentReference[] {
    return names.map((name) => itemsOf(this.#layer).doc(name))
  }

  /** The present content under a name. If the document is of another program, it counts if it is a definition of this name. */
  async #definitionIn(
    snapshot: DocumentSnapshot,
    epoch: string,
    foreign: Map<string, ForeignDocument>,
  ): Promise<FoundDefinition> {
    const found = foundDocument(snapshot)
    const item = itemDocument(found)
    if (item) return { kept: keptItem(item), stored: storedDefinition(item, epoch) }
    if (!snapshot.exists) return {}
    const read = await foreignDefinition(found, this.#compilers)
    const isOfName = 'definition' in read && read.definition.name === snapshot.id
    const stored = isOfName ? read.definition : undefined
    foreign.set(snapshot.id, { snapshot, definition: stored })
    return { stored, isForeign: true }
  }
}

function foundModule(stored: ModuleDocument, epoch: string): FoundModule {
  const summary = moduleSummary(stored, epoch)
  const { granted } = stored
  const revocation = !summary && typeof granted === 'string' ? parseRevocation(granted) : undefined
  return { kept: keptModule(stored), summary, revocation }
}

/**
 * Reads names and removes their oldest content until the layer has room. After this step, the transaction reads nothing except
 * the sources of modules.
 */
async function makeRoom(
  transaction: Transaction,
  layer: DocumentReference,
  changes: LayerChanges,
): Promise<void> {
  for (const age of AGES) {
    const sources = [
      oldestNames(transaction, itemsOf(layer), age, 'definition'),
      oldestNames(transaction, modulesOf(layer), age, 'module'),
    ]
    for (let questions = 0; questions < QUESTIONS_MAX && changes.isTooLarge(age); questions += 1) {
      let reached = Infinity
      for (const source of sources) {
        const page = await source()
        changes.consider(page.names)
        reached = Math.min(reached, page.reached)
      }
      changes.forget(age, reached)
      if (reached === Infinity) break
    }
  }
}

/** A page of names. `reached` is the revision up to which all names of the collection have been read. */
type Page = { readonly names: readonly KeptName[]; readonly reached: number }

/** Returns a function that reads the next page of names, the oldest first. After the last page, it returns empty pages. */
function oldestNames(
  transaction: Transaction,
  collection: Query,
  age: Age,
  kind: RecordKind,
): () => Promise<Page> {
  let next: Query | undefined = collection.where(age, '>', 0).orderBy(age).limit(NAMES_AT_ONCE)
  return async () => {
    const { docs = [] } = next ? await transaction.get(next) : {}
    const last = docs.at(NAMES_AT_ONCE - 1)
    next = last && next?.startAfter(last)
    const names = docs.flatMap((snapshot) => keptName(kind, snapshot) ?? [])
    return { names, reached: last ? Number(last.get(age)) : Infinity }
  }
}
