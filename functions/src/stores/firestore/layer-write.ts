import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore'
import type { StoredDefinition } from '../../tools/catalog/stored-definition.ts'
import { newEpoch, revisionText } from '../../tools/definitions/layer-revision.ts'
import { afterChange, definitionBytes, NO_TOTALS, recordBytes } from '../../tools/definitions/layer-totals.ts'
import type { UnderName } from '../../tools/definitions/layer-totals.ts'
import { written } from '../../tools/definitions/plan-write.ts'
import type { PlannedChange } from '../../tools/definitions/plan-write.ts'
import type { Room } from '../../tools/definitions/refuse-overflow.ts'
import type { ChangeOutcome, WriteContext } from '../../tools/definitions/write-outcome.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { BlobWrites } from './blob-writes.ts'
import { countLayer } from './count-layer.ts'
import type { CountedLayer } from './count-layer.ts'
import { foreignDefinition } from './foreign-definition.ts'
import { foundDocument } from './found-document.ts'
import { itemVersions, nameDocument, underItem } from './kept-names.ts'
import type { KeptName, SizedVersion } from './kept-names.ts'
import { blobsOf, itemsOf, replacedOf, versionsOf } from './layer-paths.ts'
import { LayerRoom } from './layer-room.ts'
import { storedDefinition } from './stored-definition.ts'
import { itemDocument, layerState, textHash } from './stored-documents.ts'
import type { ItemDocument, LayerDocument, VersionDocument } from './stored-documents.ts'

/** Who wrote what another program left; no uid has these characters. */
const ANOTHER_PROGRAM = '(another program)'

/** Above every revision of ours: what other programs call a revision can't push the count beyond what numbers can hold. */
const REVISION_MAX = 2 ** 40

/** What lies under a name now: an item of ours, or a document of another program that counts as the present content where it can. */
type Present = {
  readonly item?: ItemDocument
  readonly foreign?: { readonly document: DocumentSnapshot; readonly definition?: StoredDefinition }
}

/** Whose write it is, and by what it is known later. */
export type WriteParts = {
  readonly context: WriteContext
  readonly compilers: SchemaCompilers
  readonly writeId: string
}

/** A module as it will be when it is written, were there room. */
export type ModuleToWrite = {
  readonly name: KeptName
  readonly before: UnderName
  readonly after: Exclude<UnderName, 'nothing'>
  /** Of the source that is written. */
  readonly sha256: string | null
}

/** One attempt at writing definitions, inside a transaction: what it has read, and then what it writes. */
export class LayerWrite {
  readonly #transaction: Transaction
  readonly #layer: DocumentReference
  readonly #state: LayerDocument
  readonly #parts: WriteParts
  readonly #present = new Map<string, Present>()
  readonly #counted: CountedLayer | undefined
  readonly #held: LayerRoom
  #blobs: BlobWrites | undefined

  private constructor(
    transaction: Transaction,
    layer: DocumentReference,
    state: LayerDocument,
    counted: CountedLayer | undefined,
    parts: WriteParts,
  ) {
    this.#transaction = transaction
    this.#layer = layer
    this.#state = state
    this.#counted = counted
    this.#parts = parts
    this.#held = new LayerRoom(transaction, layer, counted?.totals ?? NO_TOTALS, state.floor ?? 0)
  }

  /** Begins with the layer's own document, as the transaction has read it. */
  static async of(
    transaction: Transaction,
    layer: DocumentSnapshot | undefined,
    reference: DocumentReference,
    parts: WriteParts,
  ): Promise<LayerWrite> {
    const state = layerState(layer && foundDocument(layer)) ?? (await newLayerState(transaction, reference))
    const { totals, revision, size } = state
    const counted = totals
      ? { totals, untold: [] }
      : await countLayer(transaction, reference, revision === 0 && size === 0)
    return new LayerWrite(transaction, reference, state, counted, parts)
  }

  get epoch(): string {
    return this.#state.epoch
  }

  get room(): Room {
    const { limits } = this.#parts.context
    return { size: this.#state.size, totals: this.#counted?.totals, limits }
  }

  /** Takes in what the transaction has read of definitions. */
  async know(documents: readonly DocumentSnapshot[]): Promise<void> {
    for (const document of documents) this.#present.set(document.id, await this.#presentIn(document))
  }

  get current(): ReadonlyMap<string, StoredDefinition> {
    return new Map(
      [...this.#present].flatMap(([name, { item, foreign }]): [string, StoredDefinition][] => {
        const definition = item ? storedDefinition(item, this.epoch)[0] : foreign?.definition
        return definition ? [[name, definition]] : []
      }),
    )
  }

  /** The revision of everything that these changes write. What another program left becomes a version of its own first, and a version has a revision. */
  revisionOf(planned: readonly PlannedChange[]): number {
    const replaces = written(planned).some(({ change }) => this.#present.get(change.name)?.foreign)
    return this.#state.revision + (replaces ? 2 : 1)
  }

  /** The last reads: what goes to make room for what is written. To be called before `write`, if anything changes. */
  async makeRoom(planned: readonly PlannedChange[], module?: ModuleToWrite): Promise<void> {
    const revision = this.revisionOf(planned)
    for (const plan of written(planned)) this.#plan(plan, revision)
    if (module) {
      this.#held.totals = afterChange(this.#held.totals, module.before, module.after)
      this.#held.willBe(module.name)
    }
    for (const name of this.#counted?.untold ?? []) this.#held.tell(name)
    if (this.#counted) await this.#held.shrinkTo(this.#parts.context.limits)
    const { released } = this.#held
    const hashes = [...released.map(({ sha256 }) => sha256), ...(module?.sha256 ? [module.sha256] : [])]
    this.#blobs = await BlobWrites.read(this.#transaction, blobsOf(this.#layer), hashes)
    for (const { sha256, version } of released) this.#blobs.release(sha256, version)
  }

  /** What is left of a name that is written when there is room; undefined where nothing is. */
  left(reference: DocumentReference): KeptName | undefined {
    return this.#held.left(reference)
  }

  /** The sources, when room is made. */
  get blobs(): BlobWrites {
    if (!this.#blobs) throw new TypeError('makeRoom comes before a write')
    return this.#blobs
  }

  /** Writes the definitions and, if that or `isChanged` says that anything changes, the layer's revision. */
  write(planned: readonly PlannedChange[], isChanged = false): readonly ChangeOutcome[] {
    const { current } = this
    const revision = this.revisionOf(planned)
    let { size } = this.#state
    const outcomes = planned.map(({ change, outcome }): ChangeOutcome => {
      const { name } = change
      const before = current.get(name)
      if (before && (outcome === 'unchanged' || outcome === 'skipped'))
        return { name, outcome, digest: before.digest, revision: before.revision }
      const { item, foreign } = this.#present.get(name) ?? {}
      if (foreign) this.#keep(foreign, revision - 1)
      const digest = change.kind === 'put' ? change.digest : before?.digest
      if (!digest) throw new TypeError('a deletion was planned for a name that is not there')
      const text = change.kind === 'put' ? change.text : null
      this.#put(name, { text, digest, revision })
      size += (text === null ? 0 : 1) - (typeof item?.text === 'string' ? 1 : 0)
      return { name, outcome, digest, revision: revisionText(revision, this.epoch) }
    })
    if (isChanged || written(planned).length > 0) {
      const { totals, floor } = this.#held
      const document: LayerDocument = {
        epoch: this.epoch,
        revision,
        size,
        floor,
        ...(this.#counted && { totals }),
      }
      this.#transaction.set(this.#layer, document, { merge: true })
      this.#held.write()
      this.blobs.write(this.#transaction)
    }
    return outcomes
  }

  /** Counts a change, and tells what its name will have. */
  #plan({ change }: PlannedChange, revision: number): void {
    const { item, foreign } = this.#present.get(change.name) ?? {}
    const after = change.kind === 'put' ? definitionBytes(change.text) : 'deleted'
    const bytes = after === 'deleted' ? recordBytes() : after.version
    const adopted: SizedVersion[] = foreign?.definition
      ? [{ revision: revision - 1, bytes: recordBytes(foreign.definition.text) }]
      : []
    const totals = afterChange(this.#held.totals, underItem(item), after)
    const more = adopted.reduce((sum, version) => sum + version.bytes, 0)
    this.#held.totals = { ...totals, bytes: totals.bytes + more }
    this.#held.willBe({
      reference: itemsOf(this.#layer).doc(change.name),
      isDeleted: after === 'deleted',
      versions: [...(item ? itemVersions(item) : adopted), { revision, bytes }],
    })
  }

  async #presentIn(document: DocumentSnapshot): Promise<Present> {
    const found = foundDocument(document)
    const item = itemDocument(found)
    if (item) return { item }
    if (!document.exists) return {}
    const read = await foreignDefinition(found, this.#parts.compilers)
    const isOfThatName = 'definition' in read && read.definition.name === document.id
    return { foreign: { document, ...(isOfThatName && { definition: read.definition }) } }
  }

  #put(name: string, content: Pick<ItemDocument, 'text' | 'digest' | 'revision'>): void {
    const { text, digest } = content
    const { by, at } = this.#parts.context
    const reference = itemsOf(this.#layer).doc(name)
    this.#addVersion(reference, {
      ...content,
      digest: text === null ? null : digest,
      at: at.toISOString(),
      by,
    })
    const left = this.left(reference)
    if (!left) return
    const item: ItemDocument = {
      name,
      ...content,
      textHash: textHash(text),
      updatedAt: at.toISOString(),
      updatedBy: by,
      versions: left.versions.map((version) => version.revision),
      ...nameDocument(left),
    }
    this.#transaction.set(reference, item)
  }

  /** Keeps a document that is about to be replaced: as it is, and as a version where it was a definition of that name. */
  #keep({ document, definition }: NonNullable<Present['foreign']>, revision: number): void {
    this.#transaction.set(replacedOf(document.ref).doc(String(revision)), document.data() ?? {})
    if (!definition) return
    const { text, digest } = definition
    const at = document.updateTime?.toDate().toISOString() ?? this.#parts.context.at.toISOString()
    this.#addVersion(document.ref, { revision, text, digest, at, by: ANOTHER_PROGRAM })
  }

  #addVersion(item: DocumentReference, version: Omit<VersionDocument, 'writeId'>): void {
    const document: VersionDocument = { ...version, writeId: this.#parts.writeId }
    this.#transaction.set(versionsOf(item).doc(String(version.revision)), document)
  }
}

/**
 * A layer that has no document of ours: it was never written, or somebody has removed the document. What it holds then
 * still counts, and its revisions are not given a second time.
 */
async function newLayerState(transaction: Transaction, layer: DocumentReference): Promise<LayerDocument> {
  const items = itemsOf(layer)
  const newest = items
    .where('revision', '>', 0)
    .where('revision', '<', REVISION_MAX)
    .orderBy('revision', 'desc')
    .limit(1)
  const [last, live] = await Promise.all([
    transaction.get(newest),
    transaction.get(items.where('textHash', '>', '').count()),
  ])
  const revision = Math.ceil(Number(last.docs[0]?.get('revision') ?? 0))
  return { epoch: newEpoch(), revision, size: live.data().count }
}
