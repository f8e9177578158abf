import { randomUUID } from 'node:crypto'
import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore'
import type { StoredDefinition } from '../catalog/stored-definition.ts'
import type { DefinitionChange } from '../definitions/definition-change.ts'
import { VERSIONS_KEPT } from '../definitions/definition-store.ts'
import type { ChangeOutcome, WriteContext } from '../definitions/definition-store.ts'
import { planWrite } from '../definitions/plan-write.ts'
import type { PlannedChange } from '../definitions/plan-write.ts'
import type { SchemaChecker } from '../schemas/schema-checker.ts'
import { foreignDefinition } from './foreign-definition.ts'
import { foundDocument } from './found-document.ts'
import { itemsOf, replacedOf, versionsOf } from './layer-paths.ts'
import { itemDocument, layerState, textHash } from './stored-documents.ts'
import type { ItemDocument, LayerDocument, VersionDocument } from './stored-documents.ts'
import { storedDefinition } from './stored-definition.ts'
import { newEpoch, revisionText } from '../definitions/layer-revision.ts'

/** Who wrote what another program left; no uid has these characters. */
const ANOTHER_PROGRAM = '(another program)'

/** Above every revision of ours: what other programs call a revision can't push the count beyond what numbers can hold. */
const REVISION_MAX = 2 ** 40

/** What lies under a name now: an item of ours, or a document of another program that counts as the present content where it can. */
type Present = {
  readonly item?: ItemDocument
  readonly foreign?: { readonly document: DocumentSnapshot; readonly definition?: StoredDefinition }
}

/** What an attempt has handed to the commit, and where one can see later whether it was done. */
type Sent = { readonly outcomes: readonly ChangeOutcome[]; readonly proof: DocumentReference }

/** One write of one or more definitions. Firestore may run its attempts several times; at most one of them happens. */
export class DefinitionWrite {
  readonly #layer: DocumentReference
  readonly #changes: readonly DefinitionChange[]
  readonly #context: WriteContext
  readonly #checker: SchemaChecker
  readonly #id = randomUUID()
  #sent: Sent | undefined

  constructor(
    layer: DocumentReference,
    changes: readonly DefinitionChange[],
    context: WriteContext,
    checker: SchemaChecker,
  ) {
    this.#layer = layer
    this.#changes = changes
    this.#context = context
    this.#checker = checker
  }

  /** Whether a commit was sent of which nobody knows whether it was done. */
  get isUnconfirmed(): boolean {
    return this.#sent !== undefined
  }

  /** Reads what the changes are about, lets `planWrite` decide, and writes everything or nothing. */
  async attempt(transaction: Transaction): Promise<readonly ChangeOutcome[]> {
    const references = this.#changes.map(({ name }) => itemsOf(this.#layer).doc(name))
    const [layer, ...documents] = await transaction.getAll(
      this.#layer,
      ...references,
      ...(this.#sent ? [this.#sent.proof] : []),
    )
    if (this.#sent && documents.pop()?.get('writeId') === this.#id) return this.#sent.outcomes
    this.#sent = undefined

    const state = layerState(layer && foundDocument(layer)) ?? (await newLayerState(transaction, this.#layer))
    const present = new Map<string, Present>()
    for (const document of documents) present.set(document.id, await this.#present(document))
    const current = new Map(
      [...present].flatMap(([name, { item, foreign }]): [string, StoredDefinition][] => {
        const definition = item ? storedDefinition(item, state.epoch)[0] : foreign?.definition
        return definition ? [[name, definition]] : []
      }),
    )
    const planned = planWrite(this.#changes, current, state.size, this.#context.definitionsMax)
    return this.#write(transaction, state, planned, present, current)
  }

  async #present(document: DocumentSnapshot): Promise<Present> {
    const found = foundDocument(document)
    const item = itemDocument(found)
    if (item) return { item }
    if (!document.exists) return {}
    const read = await foreignDefinition(found, this.#checker)
    const isOfThatName = 'definition' in read && read.definition.name === document.id
    return { foreign: { document, ...(isOfThatName && { definition: read.definition }) } }
  }

  #write(
    transaction: Transaction,
    state: LayerDocument,
    planned: readonly PlannedChange[],
    present: ReadonlyMap<string, Present>,
    current: ReadonlyMap<string, StoredDefinition>,
  ): readonly ChangeOutcome[] {
    const written = planned.filter(({ outcome }) => outcome !== 'unchanged' && outcome !== 'skipped')
    // What another program left becomes a version of its own first, and a version has a revision.
    const replaces = written.some(({ change }) => present.get(change.name)?.foreign)
    const revision = state.revision + (replaces ? 2 : 1)
    let { size } = state
    const outcomes = planned.map(({ change, outcome }): ChangeOutcome => {
      const { name } = change
      const before = current.get(name)
      if (before && (outcome === 'unchanged' || outcome === 'skipped'))
        return { name, outcome, digest: before.digest, revision: before.revision }
      const { item, foreign } = present.get(name) ?? {}
      const adopted = foreign && this.#keep(transaction, foreign, revision - 1)
      const digest = change.kind === 'put' ? change.digest : before?.digest
      if (!digest) throw new TypeError('a deletion was planned for a name that is not there')
      const text = change.kind === 'put' ? change.text : null
      this.#put(transaction, name, { text, digest, revision }, item?.versions ?? adopted ?? [])
      size += (text === null ? 0 : 1) - (typeof item?.text === 'string' ? 1 : 0)
      return { name, outcome, digest, revision: revisionText(revision, state.epoch) }
    })
    const [first] = written
    if (!first) return outcomes
    transaction.set(this.#layer, { epoch: state.epoch, revision, size } satisfies LayerDocument, {
      merge: true,
    })
    const proof = versionsOf(itemsOf(this.#layer).doc(first.change.name)).doc(String(revision))
    this.#sent = { outcomes, proof }
    return outcomes
  }

  #put(
    transaction: Transaction,
    name: string,
    content: Pick<ItemDocument, 'text' | 'digest' | 'revision'>,
    before: readonly number[],
  ): void {
    const { text, digest, revision } = content
    const { by, at } = this.#context
    const reference = itemsOf(this.#layer).doc(name)
    const versions = [...before, revision]
    this.#addVersion(transaction, reference, {
      ...content,
      digest: text === null ? null : digest,
      at: at.toISOString(),
      by,
    })
    for (const dropped of versions.slice(0, -VERSIONS_KEPT))
      transaction.delete(versionsOf(reference).doc(String(dropped)))
    const item: ItemDocument = {
      name,
      ...content,
      textHash: textHash(text),
      updatedAt: at.toISOString(),
      updatedBy: by,
      versions: versions.slice(-VERSIONS_KEPT),
    }
    transaction.set(reference, item)
  }

  /** Keeps a document that is about to be replaced: as it is, and as a version where it was a definition of that name. */
  #keep(
    transaction: Transaction,
    { document, definition }: NonNullable<Present['foreign']>,
    revision: number,
  ): number[] {
    transaction.set(replacedOf(document.ref).doc(String(revision)), document.data() ?? {})
    if (!definition) return []
    const { text, digest } = definition
    const at = document.updateTime?.toDate().toISOString() ?? this.#context.at.toISOString()
    this.#addVersion(transaction, document.ref, { revision, text, digest, at, by: ANOTHER_PROGRAM })
    return [revision]
  }

  #addVersion(
    transaction: Transaction,
    item: DocumentReference,
    version: Omit<VersionDocument, 'writeId'>,
  ): void {
    const document: VersionDocument = { ...version, writeId: this.#id }
    transaction.set(versionsOf(item).doc(String(version.revision)), document)
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
