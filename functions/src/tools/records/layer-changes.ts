import { VERSIONS_KEPT } from '../definitions/definition-store.ts'
import type { LayerState } from './layer-state.ts'
import { NO_TOTALS, replaced, type LayerLimits, type LayerTotals } from './layer-totals.ts'
import type { DefinitionRecord, ModuleRecord } from './stored-records.ts'

export type RecordKind = 'definition' | 'module'

export type KeptVersion = {
  readonly revision: number
  /** As `recordBytes` counts. */
  readonly bytes: number
  /** The digest of a module's source; a deletion has none. */
  readonly sha256?: string | null
}

/** One name of a layer, with the versions that are kept of it. */
export type KeptName = {
  readonly kind: RecordKind
  readonly name: string
  readonly isDeleted: boolean
  /** The bytes of the name's own record, without its versions, as `recordBytes` counts. */
  readonly ownBytes: number
  /** The oldest first. The last one is the present content, or the deletion. */
  readonly versions: readonly KeptVersion[]
  /**
   * True if `versions` holds only what a new version needs to know: the last one, and those beyond the newest
   * `VERSIONS_KEPT - 1`, which then go. To read all versions of 200 names took longer than to write 200 new ones.
   */
  readonly isPartial?: boolean | undefined
}

/** The content that is written under a name. A deletion of a module has no source. */
export type RecordContent =
  | { readonly kind: 'definition'; readonly record: DefinitionRecord }
  | {
      readonly kind: 'module'
      readonly record: ModuleRecord
      readonly report: string
      readonly source?: string | undefined
    }

/** What a write does to one name. */
export type RecordChange = {
  /** The name with every version, the new one included. */
  readonly name: KeptName
  /** The same name when room is made. A name without any version is removed. */
  readonly left: KeptName
  /** The versions that are removed. */
  readonly forgotten: readonly KeptVersion[]
  /** Undefined if the name only loses versions. */
  readonly content: RecordContent | undefined
}

/** The order in which content is removed: names that were deleted longest ago, or the oldest versions. */
export const AGES = ['deletedAt', 'oldest'] as const
export type Age = (typeof AGES)[number]

type Changed = { name: KeptName; left: KeptName; readonly content: RecordContent | undefined }

/**
 * Everything that one transaction changes in a layer: the records that it writes, and those that it removes for room. A store
 * reads names for it, asks it for the changes, and then writes them.
 */
export class LayerChanges {
  /** The revision of everything that is written. */
  readonly revision: number
  readonly #before: LayerState
  readonly #limits: Omit<LayerLimits, 'definitionsMax'>
  readonly #names = new Map<string, Changed>()
  #size: number
  #floor: number
  #totals: LayerTotals

  constructor(
    before: LayerState,
    limits: Omit<LayerLimits, 'definitionsMax'>,
    revision: number = before.revision,
  ) {
    this.revision = revision
    this.#before = before
    this.#limits = limits
    this.#size = before.size
    this.#floor = before.floor
    this.#totals = before.totals ?? NO_TOTALS
  }

  /** Writes a content. `name` has all versions, the new one last; of those the newest `VERSIONS_KEPT` stay. */
  write(before: KeptName | undefined, name: KeptName, content: RecordContent): void {
    const left = withoutSurplus(name)
    this.#names.set(keyOf(name), { name, left, content })
    this.#totals = replaced(this.#totals, before ? totalsOf(before) : NO_TOTALS, totalsOf(left))
    const wasPresent = before !== undefined && !before.isDeleted
    if (name.kind === 'definition') this.#size += Number(!name.isDeleted) - Number(wasPresent)
  }

  /**
   * Takes in names with all of their versions, because they may lose some. A name that is already known stays as it is, and
   * gets the versions that it lacks.
   */
  consider(names: readonly KeptName[]): void {
    for (const name of names) {
      const known = this.#names.get(keyOf(name))
      if (!known) this.#names.set(keyOf(name), { name, left: name, content: undefined })
      else if (known.name.isPartial) {
        const versions = [...name.versions, ...known.name.versions.slice(-1)]
        known.name = { ...known.name, versions, isPartial: false }
        known.left = withoutSurplus(known.name)
      }
    }
  }

  /** The names whose versions are not all known. They have to be considered before anything is forgotten. */
  get partial(): readonly KeptName[] {
    return [...this.#names.values()].map(({ name }) => name).filter(({ isPartial }) => isPartial)
  }

  knows(name: Pick<KeptName, 'kind' | 'name'>): boolean {
    return this.#names.has(keyOf(name))
  }

  /** True if content has to be removed by this age. */
  isTooLarge(age: Age): boolean {
    if (!this.#before.totals) return false
    const { deleted, bytes } = this.#totals
    return age === 'deletedAt' ? deleted > this.#limits.deletedMax : bytes > this.#limits.bytesMax
  }

  /**
   * Removes the oldest until the layer is small enough. The names of the layer have been considered up to the revision
   * `reached`, so nothing newer is removed.
   */
  forget(age: Age, reached: number): void {
    const oldestFirst = [...this.#names.values()]
      .flatMap((changed) => goingFrom(changed, age))
      .filter(({ revision }) => revision <= reached)
      .toSorted(byAge)
    for (const { changed, count } of oldestFirst) {
      if (!this.isTooLarge(age)) return
      this.#forgetVersions(changed, count)
    }
  }

  /** The changes that the store has to write, after room is made. */
  get records(): readonly RecordChange[] {
    const records = [...this.#names.values()].map(({ name, left, content }) => {
      const forgotten = name.versions.slice(0, name.versions.length - left.versions.length)
      return { name, left, forgotten, content }
    })
    return records.filter(({ forgotten, content }) => content !== undefined || forgotten.length > 0)
  }

  get state(): LayerState {
    return {
      epoch: this.#before.epoch,
      revision: this.revision,
      size: this.#size,
      floor: this.#floor,
      totals: this.#before.totals && this.#totals,
    }
  }

  #forgetVersions(changed: Changed, count: number): void {
    const { left } = changed
    changed.left = { ...left, versions: left.versions.slice(count) }
    this.#totals = replaced(this.#totals, totalsOf(left), totalsOf(changed.left))
    const deletion = left.versions.at(-1)
    if (deletion && changed.left.versions.length === 0 && left.kind === 'definition')
      this.#floor = Math.max(this.#floor, deletion.revision)
  }
}

/** What a name adds to the totals of its layer. */
export function totalsOf({ isDeleted, ownBytes, versions }: KeptName): LayerTotals {
  if (isDeleted && versions.length === 0) return NO_TOTALS
  return {
    bytes: versions.reduce((sum, version) => sum + version.bytes, ownBytes),
    presentBytes: isDeleted ? 0 : ownBytes + (versions.at(-1)?.bytes ?? 0),
    deleted: Number(isDeleted),
  }
}

/** The name with the newest `VERSIONS_KEPT` of its versions. */
function withoutSurplus(name: KeptName): KeptName {
  return { ...name, versions: name.versions.slice(name.isPartial ? -2 : -VERSIONS_KEPT) }
}

/** The versions that may go: all but a present content. */
export function pastVersions({ isDeleted, versions }: KeptName): readonly KeptVersion[] {
  return isDeleted ? versions : versions.slice(0, -1)
}

/** So many of the oldest versions of a name go together, at the age of this revision. */
type Going = { readonly changed: Changed; readonly revision: number; readonly count: number }

/** A deleted name is removed with all of its versions. Otherwise each version is removed alone. */
function goingFrom(changed: Changed, age: Age): readonly Going[] {
  const past = pastVersions(changed.left)
  if (age === 'oldest') return past.map(({ revision }) => ({ changed, revision, count: 1 }))
  const deletion = changed.left.isDeleted ? past.at(-1) : undefined
  return deletion ? [{ changed, revision: deletion.revision, count: past.length }] : []
}

/** Of one revision, definitions come before modules, and names in the order of their code units. */
function byAge(a: Going, b: Going): number {
  return a.revision - b.revision || (keyOf(a.changed.name) < keyOf(b.changed.name) ? -1 : 1)
}

function keyOf({ kind, name }: Pick<KeptName, 'kind' | 'name'>): string {
  return `${kind}/${name}`
}
