import type { StoredDefinition } from '../../tools/catalog/stored-definition.ts'
import { newEpoch, revisionText } from '../../tools/definitions/layer-revision.ts'
import { afterChange, definitionBytes } from '../../tools/definitions/layer-totals.ts'
import type { UnderName } from '../../tools/definitions/layer-totals.ts'
import type { PlannedChange } from '../../tools/definitions/plan-write.ts'
import type { Room } from '../../tools/definitions/refuse-overflow.ts'
import type { ChangeOutcome, WriteContext } from '../../tools/definitions/write-outcome.ts'
import { LayerRoom } from './layer-room.ts'
import { identity, storedDefinition } from './stored-definition.ts'
import type { DefinitionRow, LayerRow, Statements, StoreRow } from './statements.ts'

/** One write of a layer, inside a transaction: what it finds, and how it changes it. */
export class LayerWrite {
  readonly key: string
  readonly context: WriteContext
  readonly epoch: string
  /** The revision of everything that this write changes. */
  readonly next: number
  readonly room: Room
  readonly #statements: Statements
  readonly #held: LayerRoom
  readonly #storeBytesMax: number
  readonly #deleted = new Set<string>()
  #size: number

  constructor(statements: Statements, key: string, context: WriteContext, storeBytesMax: number) {
    const state = statements.layer.get(key) as LayerRow | undefined
    this.key = key
    this.context = context
    this.epoch = state?.epoch ?? newEpoch()
    this.next = (state?.revision ?? 0) + 1
    this.#size = state?.size ?? 0
    this.#statements = statements
    this.#storeBytesMax = storeBytesMax
    this.#held = new LayerRoom(statements, key, state)
    const store = statements.store.get() as StoreRow
    this.room = {
      size: this.#size,
      totals: this.#held.totals,
      limits: context.limits,
      store: {
        presentBytes: store.present_bytes,
        bytesMax: storeBytesMax,
        layers: store.layers + (state ? 0 : 1),
      },
    }
  }

  get revision(): string {
    return revisionText(this.next, this.epoch)
  }

  definitions(names: readonly string[]): ReadonlyMap<string, StoredDefinition> {
    return new Map(
      names.flatMap((name): [string, StoredDefinition][] => {
        const row = this.#statements.definition.get(this.key, name) as DefinitionRow | undefined
        if (row?.text === null) this.#deleted.add(name)
        return row && row.text !== null ? [[name, storedDefinition(row, row.text, this.epoch)]] : []
      }),
    )
  }

  /** Writes the definitions. */
  apply(
    planned: readonly PlannedChange[],
    current: ReadonlyMap<string, StoredDefinition>,
  ): readonly ChangeOutcome[] {
    return planned.map((plan) => this.#write(plan, current.get(plan.change.name)))
  }

  /** Counts a change of a module. `dropped` are its versions that are too many. */
  count(before: UnderName, after: Exclude<UnderName, 'nothing'>, dropped: readonly unknown[]): void {
    this.#held.totals = afterChange(this.#held.totals, before, after)
    this.#held.forgottenModules(dropped)
  }

  /** Writes the layer's revision, when everything that changes is written, and makes the room that this has taken. */
  finish(): void {
    this.#statements.putLayer.run(this.key, this.epoch, this.next, this.#size)
    this.#held.shrinkTo(this.context.limits)
    this.#held.save()
    this.#shrinkStore()
  }

  /** The layers with the most past bytes give them up, each its oldest; that may be this one. */
  #shrinkStore(): void {
    const { store, layer, layerWithMostPast } = this.#statements
    for (;;) {
      const tooMany = (store.get() as StoreRow).bytes - this.#storeBytesMax
      if (tooMany <= 0) return
      const most = layerWithMostPast.get() as { layer: string } | undefined
      if (!most) return
      const row = layer.get(most.layer) as LayerRow
      if (row.bytes <= row.present_bytes) return
      const held = new LayerRoom(this.#statements, most.layer, row)
      // A part at a time, for then another layer may have the most.
      const step = Math.min(tooMany, Math.ceil((row.bytes - row.present_bytes) / 2))
      held.shrinkTo({ bytesMax: row.bytes - step, deletedMax: Infinity })
      // A count that is wrong must not keep the writer for ever.
      if (held.totals.bytes === row.bytes) return
      held.save()
    }
  }

  #write({ change, outcome }: PlannedChange, before: StoredDefinition | undefined): ChangeOutcome {
    const { name } = change
    if (outcome === 'unchanged' || outcome === 'skipped') return { name, outcome, ...identity(before) }
    const { addPast, addVersion, put } = this.#statements
    const { by } = this.context
    const at = this.context.at.toISOString()
    const text = change.kind === 'put' ? change.text : null
    const digest = change.kind === 'put' ? change.digest : identity(before).digest
    if (before) addPast.run(this.key, Number.parseInt(before.revision, 10), name)
    put.run(this.key, name, this.next, digest, text, at, by)
    addVersion.run(this.key, name, this.next, text === null ? null : digest, text, at, by)
    if (text === null) addPast.run(this.key, this.next, name)
    this.#count(name, before?.text, text)
    this.#held.dropSurplus(name)
    return { name, outcome, digest, revision: this.revision }
  }

  #count(name: string, before: string | undefined, after: string | null): void {
    const left = this.#deleted.has(name) ? 'deleted' : 'nothing'
    this.#size += Number(after !== null) - Number(before !== undefined)
    this.#held.totals = afterChange(
      this.#held.totals,
      before === undefined ? left : definitionBytes(before),
      after === null ? 'deleted' : definitionBytes(after),
    )
  }
}
