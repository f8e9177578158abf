import type { StoredDefinition } from '../../tools/catalog/stored-definition.ts'
import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import { newEpoch, revisionText } from '../../tools/definitions/layer-revision.ts'
import type { PlannedChange, Room } from '../../tools/definitions/plan-write.ts'
import type { ChangeOutcome, WriteContext } from '../../tools/definitions/write-outcome.ts'
import { identity, storedDefinition } from './stored-definition.ts'
import type { DefinitionRow, LayerRow, Statements } from './statements.ts'

/** One write of a layer, inside a transaction: what it finds, and how it changes it. */
export class LayerWrite {
  readonly key: string
  readonly context: WriteContext
  readonly epoch: string
  /** The revision of everything that this write changes. */
  readonly next: number
  readonly room: Room
  readonly #statements: Statements

  constructor(statements: Statements, key: string, context: WriteContext) {
    const state = statements.layer.get(key) as LayerRow | undefined
    this.key = key
    this.context = context
    this.epoch = state?.epoch ?? newEpoch()
    this.next = (state?.revision ?? 0) + 1
    this.room = { size: state?.size ?? 0, definitionsMax: context.definitionsMax }
    this.#statements = statements
  }

  get revision(): string {
    return revisionText(this.next, this.epoch)
  }

  definitions(names: readonly string[]): ReadonlyMap<string, StoredDefinition> {
    return new Map(
      names.flatMap((name): [string, StoredDefinition][] => {
        const row = this.#statements.definition.get(this.key, name) as DefinitionRow | undefined
        return row && row.text !== null ? [[name, storedDefinition(row, row.text, this.epoch)]] : []
      }),
    )
  }

  /** Writes the definitions and, if that or `isChanged` says that anything changes, the layer's revision. */
  apply(
    planned: readonly PlannedChange[],
    current: ReadonlyMap<string, StoredDefinition>,
    isChanged = false,
  ): readonly ChangeOutcome[] {
    const outcomes = planned.map((plan) => this.#write(plan, current.get(plan.change.name)))
    const count = (wanted: ChangeOutcome['outcome']): number =>
      outcomes.filter(({ outcome }) => outcome === wanted).length
    const same = count('unchanged') + count('skipped')
    const size = this.room.size + count('created') - count('deleted')
    if (isChanged || same < outcomes.length)
      this.#statements.putLayer.run(this.key, this.epoch, this.next, size)
    return outcomes
  }

  #write({ change, outcome }: PlannedChange, before: StoredDefinition | undefined): ChangeOutcome {
    const { name } = change
    if (outcome === 'unchanged' || outcome === 'skipped') return { name, outcome, ...identity(before) }
    const { addVersion, dropVersions, put } = this.#statements
    const { by } = this.context
    const at = this.context.at.toISOString()
    const text = change.kind === 'put' ? change.text : null
    const digest = change.kind === 'put' ? change.digest : identity(before).digest
    put.run(this.key, name, this.next, digest, text, at, by)
    addVersion.run(this.key, name, this.next, text === null ? null : digest, text, at, by)
    dropVersions.run(this.key, name, this.key, name, VERSIONS_KEPT)
    return { name, outcome, digest, revision: this.revision }
  }
}
