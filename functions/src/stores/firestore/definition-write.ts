import { randomUUID } from 'node:crypto'
import type { DocumentReference, Transaction } from 'firebase-admin/firestore'
import type { DefinitionChange } from '../../tools/definitions/definition-change.ts'
import { planWrite, written } from '../../tools/definitions/plan-write.ts'
import type { ChangeOutcome, WriteContext } from '../../tools/definitions/write-outcome.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { itemsOf, versionsOf } from './layer-paths.ts'
import { LayerWrite } from './layer-write.ts'
import type { StoreWrite } from './store-write.ts'

/** What an attempt has handed to the commit, and where one can see later whether it was done. */
type Sent = { readonly outcomes: readonly ChangeOutcome[]; readonly proof: DocumentReference }

/** One write of one or more definitions. */
export class DefinitionWrite implements StoreWrite<readonly ChangeOutcome[]> {
  readonly #layer: DocumentReference
  readonly #changes: readonly DefinitionChange[]
  readonly #context: WriteContext
  readonly #compilers: SchemaCompilers
  readonly #id = randomUUID()
  #sent: Sent | undefined

  constructor(
    layer: DocumentReference,
    changes: readonly DefinitionChange[],
    context: WriteContext,
    compilers: SchemaCompilers,
  ) {
    this.#layer = layer
    this.#changes = changes
    this.#context = context
    this.#compilers = compilers
  }

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

    const parts = { context: this.#context, compilers: this.#compilers, writeId: this.#id }
    const write = await LayerWrite.of(transaction, layer, this.#layer, parts)
    await write.know(documents)
    const planned = planWrite(this.#changes, write.current, write.room)
    const [first] = written(planned)
    if (first) await write.makeRoom(planned)
    const outcomes = write.write(planned)
    if (!first) return outcomes
    const versions = versionsOf(itemsOf(this.#layer).doc(first.change.name))
    this.#sent = { outcomes, proof: versions.doc(String(write.revisionOf(planned))) }
    return outcomes
  }
}
