import { randomUUID } from 'node:crypto'
import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore'
import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import type { WriteContext } from '../../tools/definitions/write-outcome.ts'
import type { ModuleChange, ModuleOutcome } from '../../tools/modules/module-store.ts'
import { definitionsOf, planModuleWrite } from '../../tools/modules/plan-module-write.ts'
import type { SchemaChecker } from '../../tools/schemas/schema-checker.ts'
import { BlobWrites } from './blob-writes.ts'
import { foundDocument } from './found-document.ts'
import { blobsOf, itemsOf, modulesOf, versionsOf } from './layer-paths.ts'
import { LayerWrite } from './layer-write.ts'
import { moduleDocument } from './module-documents.ts'
import type { KeptVersion, ModuleDocument, ModuleVersionDocument } from './module-documents.ts'
import type { StoreWrite } from './store-write.ts'

/** What an attempt has handed to the commit, and where one can see later whether it was done. */
type Sent = { readonly outcome: ModuleOutcome; readonly proof: DocumentReference }

/** One write of one module, with all of its definitions. */
export class ModuleWrite implements StoreWrite<ModuleOutcome> {
  readonly #layer: DocumentReference
  readonly #change: ModuleChange
  readonly #context: WriteContext
  readonly #checker: SchemaChecker
  readonly #id = randomUUID()
  #sent: Sent | undefined

  constructor(layer: DocumentReference, change: ModuleChange, context: WriteContext, checker: SchemaChecker) {
    this.#layer = layer
    this.#change = change
    this.#context = context
    this.#checker = checker
  }

  get isUnconfirmed(): boolean {
    return this.#sent !== undefined
  }

  /** Reads the module and the definitions that it is about, lets `planModuleWrite` decide, and writes everything or nothing. */
  async attempt(transaction: Transaction): Promise<ModuleOutcome> {
    const change = this.#change
    const [layer, found, proof] = await transaction.getAll(
      this.#layer,
      modulesOf(this.#layer).doc(change.name),
      ...(this.#sent ? [this.#sent.proof] : []),
    )
    if (this.#sent && proof?.get('writeId') === this.#id) return this.#sent.outcome
    this.#sent = undefined

    const parts = { context: this.#context, checker: this.#checker, writeId: this.#id }
    const write = await LayerWrite.of(transaction, layer, this.#layer, parts)
    const before = found && moduleDocument(foundDocument(found))
    const present = presentIn(before)
    await write.know(await this.#definitions(transaction, definitionsOf(change, present)))
    const { outcome, definitions } = planModuleWrite(change, present, write.current, write.room)
    const sha256 = change.kind === 'put' ? change.sha256 : (present?.sha256 ?? '')
    if (outcome === 'unchanged') {
      const revision = revisionText(before?.revision ?? 0, write.epoch)
      return { name: change.name, outcome, sha256, revision, tools: write.write(definitions) }
    }

    const revision = write.revisionOf(definitions)
    const versions = [...(before?.versions ?? []), { revision, sha256: sha256Of(change) }]
    const blobs = await this.#blobs(transaction, versions)
    const tools = write.write(definitions, true)
    this.#put(transaction, versions)
    blobs.write(transaction)
    const result = {
      name: change.name,
      outcome,
      sha256,
      replaced: present?.sha256,
      revision: revisionText(revision, write.epoch),
      tools,
    }
    const item = modulesOf(this.#layer).doc(change.name)
    this.#sent = { outcome: result, proof: versionsOf(item).doc(String(revision)) }
    return result
  }

  async #definitions(
    transaction: Transaction,
    names: readonly string[],
  ): Promise<readonly DocumentSnapshot[]> {
    const [first, ...rest] = names.map((name) => itemsOf(this.#layer).doc(name))
    return first ? transaction.getAll(first, ...rest) : []
  }

  /** What becomes of the sources: the one that is written is kept by its version, that of a version which goes may go with it. */
  async #blobs(transaction: Transaction, versions: readonly KeptVersion[]): Promise<BlobWrites> {
    const { name } = this.#change
    const [added] = versions.slice(-1)
    const dropped = versions.slice(0, -VERSIONS_KEPT)
    const keeps = [...dropped, ...(added ? [added] : [])].flatMap(({ sha256 }) => sha256 ?? [])
    const blobs = await BlobWrites.read(transaction, blobsOf(this.#layer), keeps)
    for (const { revision, sha256 } of dropped)
      if (sha256 !== null) blobs.release(sha256, `${name}@${revision}`)
    if (this.#change.kind === 'put' && added)
      blobs.keep(this.#change.sha256, this.#change.source, `${name}@${added.revision}`)
    return blobs
  }

  #put(transaction: Transaction, versions: readonly KeptVersion[]): void {
    const change = this.#change
    const { name } = change
    const { by } = this.#context
    const at = this.#context.at.toISOString()
    const revision = versions.at(-1)?.revision ?? 0
    const reference = modulesOf(this.#layer).doc(name)
    const tools = change.kind === 'put' ? change.tools.map((tool) => tool.name) : []
    const sha256 = sha256Of(change)
    const version: ModuleVersionDocument = { revision, sha256, tools, at, by, writeId: this.#id }
    transaction.set(versionsOf(reference).doc(String(revision)), version)
    for (const dropped of versions.slice(0, -VERSIONS_KEPT))
      transaction.delete(versionsOf(reference).doc(String(dropped.revision)))
    const document: ModuleDocument = {
      name,
      ...(change.kind === 'put' && { listedAs: name }),
      sha256,
      tools,
      report: JSON.stringify(change.kind === 'put' ? change.report : {}),
      revision,
      updatedAt: at,
      updatedBy: by,
      versions: versions.slice(-VERSIONS_KEPT),
    }
    transaction.set(reference, document)
  }
}

function sha256Of(change: ModuleChange): string | null {
  return change.kind === 'put' ? change.sha256 : null
}

function presentIn(document: ModuleDocument | undefined) {
  if (!document || document.sha256 === null) return undefined
  return { sha256: document.sha256, tools: document.tools }
}
