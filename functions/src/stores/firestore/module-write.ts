import { randomUUID } from 'node:crypto'
import type { DocumentReference, DocumentSnapshot, Transaction } from 'firebase-admin/firestore'
import { revisionText } from '../../tools/definitions/layer-revision.ts'
import { recordBytes } from '../../tools/definitions/layer-totals.ts'
import type { WriteContext } from '../../tools/definitions/write-outcome.ts'
import type { ModuleChange, ModuleOutcome } from '../../tools/modules/module-store.ts'
import { bytesAfter, definitionsOf, planModuleWrite } from '../../tools/modules/plan-module-write.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { foundDocument } from './found-document.ts'
import { moduleVersions, nameDocument, underModule } from './kept-names.ts'
import type { KeptName } from './kept-names.ts'
import { itemsOf, modulesOf, versionsOf } from './layer-paths.ts'
import { LayerWrite } from './layer-write.ts'
import type { ModuleToWrite } from './layer-write.ts'
import { moduleDocument } from './module-documents.ts'
import type { ModuleDocument, ModuleVersionDocument } from './module-documents.ts'
import type { StoreWrite } from './store-write.ts'

/** What an attempt has handed to the commit, and where one can see later whether it was done. */
type Sent = { readonly outcome: ModuleOutcome; readonly proof: DocumentReference }

/** One write of one module, with all of its definitions. */
export class ModuleWrite implements StoreWrite<ModuleOutcome> {
  readonly #layer: DocumentReference
  readonly #change: ModuleChange
  readonly #context: WriteContext
  readonly #compilers: SchemaCompilers
  readonly #id = randomUUID()
  #sent: Sent | undefined

  constructor(
    layer: DocumentReference,
    change: ModuleChange,
    context: WriteContext,
    compilers: SchemaCompilers,
  ) {
    this.#layer = layer
    this.#change = change
    this.#context = context
    this.#compilers = compilers
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

    const parts = { context: this.#context, compilers: this.#compilers, writeId: this.#id }
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
    const reference = modulesOf(this.#layer).doc(change.name)
    await write.makeRoom(definitions, this.#asItWillBe(before, revision))
    if (change.kind === 'put') write.blobs.keep(change.sha256, change.source, `${change.name}@${revision}`)
    const tools = write.write(definitions, true)
    this.#put(transaction, revision, write.left(reference))
    const result = {
      name: change.name,
      outcome,
      sha256,
      replaced: present?.sha256,
      revision: revisionText(revision, write.epoch),
      tools,
    }
    this.#sent = { outcome: result, proof: versionsOf(reference).doc(String(revision)) }
    return result
  }

  async #definitions(
    transaction: Transaction,
    names: readonly string[],
  ): Promise<readonly DocumentSnapshot[]> {
    const [first, ...rest] = names.map((name) => itemsOf(this.#layer).doc(name))
    return first ? transaction.getAll(first, ...rest) : []
  }

  #asItWillBe(before: ModuleDocument | undefined, revision: number): ModuleToWrite {
    const change = this.#change
    const after = bytesAfter(change)
    const sha256 = sha256Of(change)
    const bytes = after === 'deleted' ? recordBytes() : after.version
    const versions = [...(before ? moduleVersions(before) : []), { revision, sha256, bytes }]
    const reference = modulesOf(this.#layer).doc(change.name)
    const name = { reference, isDeleted: after === 'deleted', versions }
    return { name, before: underModule(before), after, sha256 }
  }

  #put(transaction: Transaction, revision: number, left: KeptName | undefined): void {
    const change = this.#change
    const { name } = change
    const { by } = this.#context
    const at = this.#context.at.toISOString()
    if (!left) return
    const reference = modulesOf(this.#layer).doc(name)
    const tools = change.kind === 'put' ? change.tools.map((tool) => tool.name) : []
    const sha256 = sha256Of(change)
    const version: ModuleVersionDocument = { revision, sha256, tools, at, by, writeId: this.#id }
    transaction.set(versionsOf(reference).doc(String(revision)), version)
    const document: ModuleDocument = {
      name,
      ...(change.kind === 'put' && { listedAs: name }),
      sha256,
      tools,
      report: JSON.stringify(change.kind === 'put' ? change.report : {}),
      revision,
      updatedAt: at,
      updatedBy: by,
      versions: left.versions.map((kept) => ({ revision: kept.revision, sha256: kept.sha256 ?? null })),
      ...nameDocument(left),
    }
    transaction.set(reference, document)
  }
}

function sha256Of(change: ModuleChange): string | null {
  return change.kind === 'put' ? change.sha256 : null
}

function presentIn(document: ModuleDocument | undefined) {
  if (!document || document.sha256 === null) return undefined
  const under = underModule(document)
  const bytes = typeof under === 'string' ? { own: 0, version: 0 } : under
  return { sha256: document.sha256, tools: document.tools, bytes }
}
