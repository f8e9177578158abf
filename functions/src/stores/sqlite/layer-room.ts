import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import { afterForgotten, RECORD_BYTES } from '../../tools/definitions/layer-totals.ts'
import type { LayerTotals } from '../../tools/definitions/layer-totals.ts'
import type { LayerRow, PastRow, Statements } from './statements.ts'

/** A version that may go, of a definition or a module. */
type Past = PastRow & { readonly kind: 'definition' | 'module' }

/** What one layer holds, and what goes from it to make room; inside a transaction. */
export class LayerRoom {
  totals: LayerTotals
  readonly #statements: Statements
  readonly #key: string
  #floor: number
  #mayLeaveBlobs = false

  constructor(statements: Statements, key: string, row: LayerRow | undefined) {
    this.#statements = statements
    this.#key = key
    this.#floor = row?.floor ?? 0
    this.totals = {
      bytes: row?.bytes ?? 0,
      presentBytes: row?.present_bytes ?? 0,
      deleted: row?.deleted ?? 0,
    }
  }

  /** What is past goes, the oldest first, until so many bytes are there at most; and names that were deleted, until so many are. */
  shrinkTo({ bytesMax, deletedMax }: { readonly bytesMax: number; readonly deletedMax: number }): void {
    while (this.totals.deleted > deletedMax && this.#forgetName()) continue
    while (this.totals.bytes > bytesMax && this.#forgetVersion()) continue
  }

  /** The oldest versions of a definition go where it has too many. */
  dropSurplus(name: string): void {
    const rows = this.#statements.surplusVersions.all(this.#key, name, VERSIONS_KEPT)
    for (const { revision } of rows as { revision: number }[])
      this.#count(this.#takeOut(name, revision), false)
  }

  /** Counts versions of a module that have gone because it has too many. */
  forgottenModules(rows: readonly unknown[]): void {
    for (const row of rows) this.#count(row, false)
    if (rows.length > 0) this.#mayLeaveBlobs = true
  }

  /** Writes the totals; sources go that no version has any more. */
  save(): void {
    const { bytes, presentBytes, deleted } = this.totals
    if (this.#mayLeaveBlobs) this.#statements.dropBlobs.run(this.#key)
    this.#statements.putTotals.run(bytes, presentBytes, deleted, this.#floor, this.#key)
  }

  #forgetVersion(): boolean {
    const { oldestPast, oldestModulePast } = this.#statements
    const oldest = this.#older(oldestPast.get(this.#key), oldestModulePast.get(this.#key))
    if (oldest) this.#drop(oldest)
    return oldest !== undefined
  }

  /** The oldest deletion goes with everything before it: the versions of its name. */
  #forgetName(): boolean {
    const { oldestDeleted, oldestDeletedModule, versions, moduleVersions } = this.#statements
    const deletion = this.#older(oldestDeleted.get(this.#key), oldestDeletedModule.get(this.#key))
    if (!deletion) return false
    const { kind, name } = deletion
    const rows = (kind === 'definition' ? versions : moduleVersions).all(this.#key, name, -1) as PastRow[]
    for (const { revision } of rows.toReversed()) this.#drop({ kind, name, revision })
    return true
  }

  #drop({ kind, name, revision }: Past): void {
    const { dropDeleted, dropModuleVersion } = this.#statements
    if (kind === 'definition') {
      const row = this.#takeOut(name, revision)
      const isNameGone = dropDeleted.run(this.#key, name, revision).changes > 0
      if (isNameGone) this.#floor = Math.max(this.#floor, revision)
      this.#count(row, isNameGone)
    } else {
      const row = dropModuleVersion.get(this.#key, name, revision)
      this.#count(row, this.#isModuleGone(name))
      this.#mayLeaveBlobs = true
    }
  }

  #takeOut(name: string, revision: number): unknown {
    this.#statements.dropPast.run(this.#key, revision, name)
    return this.#statements.dropVersion.get(this.#key, name, revision)
  }

  #isModuleGone(name: string): boolean {
    const left = this.#statements.moduleVersionsOf.get(this.#key, name) as { versions: number }
    return left.versions === 0
  }

  #count(row: unknown, isNameGone: boolean): void {
    const { bytes } = row as { bytes: number }
    this.totals = afterForgotten(this.totals, RECORD_BYTES + bytes, isNameGone)
  }

  #older(definition: unknown, module: unknown): Past | undefined {
    const [first, second] = [definition, module] as (PastRow | undefined)[]
    if (first && (!second || first.revision <= second.revision)) return { ...first, kind: 'definition' }
    return second && { ...second, kind: 'module' }
  }
}
