import { createHash } from 'node:crypto'
import type { DocumentReference, DocumentSnapshot, Firestore, QueryDocumentSnapshot } from 'firebase-admin/firestore'
import type { LayerRead, LayerSource, SkippedItem } from '../catalog/layer-source.ts'
import type { StoredDefinition } from '../catalog/stored-definition.ts'
import type { SchemaChecker } from '../schemas/schema-checker.ts'
import { firestoreError } from './firestore-error.ts'
import { foreignDefinition } from './foreign-definition.ts'
import { itemsOf } from './layer-paths.ts'
import { isItemDocument, isLayerDocument } from './stored-documents.ts'
import type { LayerDocument } from './stored-documents.ts'
import { revisionText, storedDefinition } from './stored-definition.ts'

/** Other programs write without raising the revision; their changes are seen after this long, in milliseconds. */
export const WHOLE_READ_MS = 5 * 60 * 1_000

/** One layer in Firestore: one read to ask for its revision, then only the definitions with a newer one. */
export class FirestoreLayerSource implements LayerSource {
  readonly #firestore: Firestore
  readonly #layer: DocumentReference
  readonly #checker: SchemaChecker
  readonly #now: () => number
  #wholeAt = -Infinity
  /** What marks the content of other programs' documents in the revision. */
  #foreign = ''
  #skipped: readonly SkippedItem[] = []

  constructor(parts: { firestore: Firestore; layer: DocumentReference; checker: SchemaChecker; now: () => number }) {
    this.#firestore = parts.firestore
    this.#layer = parts.layer
    this.#checker = parts.checker
    this.#now = parts.now
  }

  async read(since?: string): Promise<LayerRead> {
    try {
      if (since !== undefined && this.#wholeAt === -Infinity) this.#wholeAt = this.#now()
      const isDue = this.#now() - this.#wholeAt >= WHOLE_READ_MS
      return since === undefined || isDue ? await this.#readWhole() : await this.#readSince(since)
    } catch (error) {
      throw firestoreError(error)
    }
  }

  async #readSince(since: string): Promise<LayerRead> {
    const state = layerState(await this.#layer.get())
    if (this.#revision(state) === since) return this.#changes(since, [])
    const known = state && revisionNumber(since, this.#foreign, state)
    if (!state || known === undefined) return this.#readWhole()
    return this.#snapshot(async (read) => {
      const [layer, items] = await read(known)
      const newest = layerState(layer)
      return newest?.epoch === state.epoch ? this.#changes(this.#revision(newest), items, newest) : this.#whole(layer, items)
    })
  }

  #readWhole(): Promise<LayerRead> {
    return this.#snapshot(async (read) => this.#whole(...(await read())))
  }

  /** Revision and definitions of one moment: a revision never stands for two contents. */
  #snapshot(act: (read: (after?: number) => Promise<[DocumentSnapshot, QueryDocumentSnapshot[]]>) => Promise<LayerRead>): Promise<LayerRead> {
    return this.#firestore.runTransaction(
      (transaction) =>
        act(async (after) => {
          const items = itemsOf(this.#layer)
          const query = after === undefined ? items : items.where('revision', '>', after)
          const layer = await transaction.get(this.#layer)
          return [layer, (await transaction.get(query)).docs]
        }),
      { readOnly: true },
    )
  }

  #changes(revision: string, items: readonly QueryDocumentSnapshot[], state?: LayerDocument): LayerRead {
    const changed = items.map((item) => item.data()).filter(isItemDocument)
    const definitions = changed.flatMap((item) => (state ? storedDefinition(item, state.epoch) : []))
    const deleted = changed.filter((item) => item.text === null).map((item) => item.name)
    return { revision, whole: false, definitions, deleted, skipped: this.#skipped }
  }

  async #whole(layer: DocumentSnapshot, items: readonly QueryDocumentSnapshot[]): Promise<LayerRead> {
    const state = layerState(layer)
    const own = items.map((item) => item.data()).filter(isItemDocument)
    const byName = new Map(own.flatMap((item) => storedDefinition(item, state?.epoch ?? '')).map((found) => [found.name, found]))
    const { definitions, skipped } = await this.#readForeign(items.filter((item) => !isItemDocument(item.data())), byName)
    this.#foreign = definitions.length + skipped.length > 0 ? `-${hashOf(JSON.stringify([definitions, skipped]))}` : ''
    this.#skipped = skipped
    this.#wholeAt = this.#now()
    return { revision: this.#revision(state), whole: true, definitions: [...byName.values(), ...definitions], deleted: [], skipped }
  }

  /** A definition of ours wins over another program's of the same name, and so does the first id of two of theirs. */
  async #readForeign(documents: readonly QueryDocumentSnapshot[], own: ReadonlyMap<string, StoredDefinition>) {
    const definitions = new Map<string, StoredDefinition>()
    const skipped: SkippedItem[] = []
    for (const document of documents.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const read = await foreignDefinition(document, this.#checker)
      if ('skipped' in read) skipped.push(...read.skipped)
      else if (!own.has(read.definition.name) && !definitions.has(read.definition.name)) definitions.set(read.definition.name, read.definition)
      else skipped.push({ source: read.definition.source ?? '', pointer: '', message: `the name ${read.definition.name} is taken by another document` })
    }
    return { definitions: [...definitions.values()], skipped }
  }

  #revision(state: LayerDocument | undefined): string {
    return `${state ? revisionText(state.revision, state.epoch) : '0'}${this.#foreign}`
  }
}

function layerState(snapshot: DocumentSnapshot): LayerDocument | undefined {
  const data = snapshot.data()
  return isLayerDocument(data) ? data : undefined
}

/** Undefined for a revision of another epoch, of other foreign documents, or of the future: then all is read. */
function revisionNumber(since: string, foreign: string, state: LayerDocument): number | undefined {
  if (!since.endsWith(foreign)) return undefined
  const [number, epoch, ...rest] = since.slice(0, since.length - foreign.length).split('-')
  const isKnown = epoch === state.epoch && rest.length === 0 && Number(number) <= state.revision
  return isKnown ? Number(number) : undefined
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
