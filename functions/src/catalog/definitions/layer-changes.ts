import type { Digest } from '@toolrack/contract'
import { VERSIONS_KEPT } from './definition-store.ts'
import type { LayerState } from './layer-state.ts'
import { NO_TOTALS, replaced, type LayerLimits, type LayerTotals } from './layer-totals.ts'
import type { ModuleContent } from './module-content.ts'
import type { DefinitionRecord, ModuleRecord } from './stored-records.ts'

export type RecordKind = 'definition' | 'module'

export type KeptVersion = {
  readonly revision: number
  /** The size of the version in bytes, as `recordBytes` counts it. */
  readonly bytes: number
  /** The digest of a module's content. Null for a deletion, and missing in a version of a definition. */
  readonly sha256?: string | null
  /** The digest of a module's lock. Missing or null if the version has none. */
  readonly environment?: Digest | null
}

/** The name of one definition or module in a layer, with its kept versions. */
export type KeptName = {
  readonly kind: RecordKind
  readonly name: string
  /**
   * True for a deleted name, which can be removed to make room. False for a deleted module that keeps a revocation: if it were
   * removed, a program that writes much could undo the revocation.
   */
  readonly isDeleted: boolean
  /** The bytes of the name's present record, as `recordBytes` counts them. Versions are not included. */
  readonly ownBytes: number
  /** The kept versions, the oldest first. The last one is the present content, or the deletion. */
  readonly versions: readonly KeptVersion[]
  /**
   * True if not all kept versions are in `versions`, but only those that adding a version needs: the last version, and the
   * versions that the new one displaces. Reading all versions of 200 names took longer than writing the names.
   */
  readonly isPartial?: boolean | undefined
}

/** The content that is written under a name. If a module is deleted, `module` is missing. */
export type RecordContent =
  | { readonly kind: 'definition'; readonly record: DefinitionRecord }
  | {
      readonly kind: 'module'
      readonly record: ModuleRecord
      readonly report: string
      readonly module?: ModuleContent | undefined
      /** The `lockText` of the module's packages, if it has any. */
      readonly lock?: string | undefined
    }
  /** New grants in the record of a present module. They make no version. `granted` is its `grantsText`. */
  | { readonly kind: 'grants'; readonly granted: string }

export type RecordChange = {
  /** The name before versions are removed to make room. Its new version is included. */
  readonly name: KeptName
  /** The name after versions were removed to make room. If no version is left, the name is removed too. */
  readonly left: KeptName
  /** The versions that are removed. */
  readonly forgotten: readonly KeptVersion[]
  /** The content to write. Undefined if versions of the name are only removed. */
  readonly content: RecordContent | undefined
}

/**
 * The two orders in which content is removed to make room. With `deletedAt`, the names that were deleted first are removed. With
 * `oldest`, the oldest past versions are removed.
 */
export const AGES = ['deletedAt', 'oldest'] as const
export type Age = (typeof AGES)[number]

type Changed = { name: KeptName; left: KeptName; readonly content: RecordContent | undefined }

/**
 * Collects all changes that one transaction makes to a layer: the records that it writes, and those that it removes to make room.
 * The store reads names and passes them to this object, asks for the changes, and then writes them.
 */
export class LayerChanges {
  readonly #limits: Omit<LayerLimits, 'definitionsMax'>
  readonly #names = new Map<string, Changed>()
  #state: LayerState

  /** `revision` is given to all records that the transaction writes. */
  constructor(
    { epoch, revision: last, size, floor, totals }: LayerState,
    limits: Omit<LayerLimits, 'definitionsMax'>,
    revision: number = last,
  ) {
    this.#limits = limits
    this.#state = { epoch, revision, size, floor, totals }
  }

  /** The state of the layer after these changes. */
  get state(): LayerState {
    return this.#state
  }

  /**
   * Adds a record that will be written. The last version of `name` is the new one. Only the newest `VERSIONS_KEPT` versions
   * remain.
   */
  write(before: KeptName | undefined, name: KeptName, content: RecordContent): void {
    const left = withoutSurplus(name)
    this.#names.set(keyOf(name), { name, left, content })
    this.#replace(before, left)
    if (name.kind !== 'definition') return
    const wasPresent = before !== undefined && !before.isDeleted
    const size = this.#state.size + Number(!name.isDeleted) - Number(wasPresent)
    this.#state = { ...this.#state, size }
  }

  /**
   * Adds names with all their versions, as candidates for removal. If a name was added before, only its missing versions are
   * added.
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

  /** The names of which not all versions are known. They must be passed to `consider` before `forget` is called. */
  get partial(): readonly KeptName[] {
    return [...this.#names.values()].map(({ name }) => name).filter(({ isPartial }) => isPartial)
  }

  knows(name: Pick<KeptName, 'kind' | 'name'>): boolean {
    return this.#names.has(keyOf(name))
  }

  /**
   * True if content must be removed: with `deletedAt`, if there are too many deleted names; with `oldest`, if there are too many
   * bytes.
   */
  isTooLarge(age: Age): boolean {
    const { totals } = this.#state
    if (!totals) return false
    const { deletedMax, bytesMax } = this.#limits
    return age === 'deletedAt' ? totals.deleted > deletedMax : totals.bytes > bytesMax
  }

  /**
   * Removes content in the order of `age`, until the layer is small enough. Content that is newer than the revision `reached`
   * stays, because only the names up to this revision were passed to `consider`.
   */
  forget(age: Age, reached: number): void {
    const oldestFirst = [...this.#names.values()]
      .flatMap((changed) => removableFrom(changed, age))
      .filter(({ revision }) => revision <= reached)
      .toSorted(byAge)
    for (const { changed, count } of oldestFirst) {
      if (!this.isTooLarge(age)) return
      this.#forgetVersions(changed, count)
    }
  }

  /** The changes that the store has to write. To be read after the last call of `forget`. */
  get records(): readonly RecordChange[] {
    const records = [...this.#names.values()].map(({ name, left, content }) => {
      const forgotten = name.versions.slice(0, name.versions.length - left.versions.length)
      return { name, left, forgotten, content }
    })
    return records.filter(({ forgotten, content }) => content !== undefined || forgotten.length > 0)
  }

  #forgetVersions(changed: Changed, count: number): void {
    const { left } = changed
    changed.left = { ...left, versions: left.versions.slice(count) }
    this.#replace(left, changed.left)
    const deletion = left.versions.at(-1)
    if (deletion && changed.left.versions.length === 0 && left.kind === 'definition')
      this.#state = { ...this.#state, floor: Math.max(this.#state.floor, deletion.revision) }
  }

  /**
   * Updates the totals of the layer after `after` has replaced `before`. Does nothing if the content of the layer was never
   * counted.
   */
  #replace(before: KeptName | undefined, after: KeptName): void {
    const { totals } = this.#state
    if (!totals) return
    const removed = before ? totalsOf(before) : NO_TOTALS
    this.#state = { ...this.#state, totals: replaced(totals, removed, totalsOf(after)) }
  }
}

/** What one name adds to the totals of its layer. */
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

/** The versions that may be removed: all except the one with the present content. */
export function pastVersions({ isDeleted, versions }: KeptName): readonly KeptVersion[] {
  return isDeleted ? versions : versions.slice(0, -1)
}

/**
 * The `count` oldest versions of a name, which can only be removed together. Those with the lowest `revision` are removed first.
 */
type Removable = { readonly changed: Changed; readonly revision: number; readonly count: number }

/**
 * Groups the versions that can only be removed together. With `deletedAt`, they are all versions of a deleted name, and no
 * version of another name. With `oldest`, each past version is a group.
 */
function removableFrom(changed: Changed, age: Age): readonly Removable[] {
  const past = pastVersions(changed.left)
  if (age === 'oldest') return past.map(({ revision }) => ({ changed, revision, count: 1 }))
  const deletion = changed.left.isDeleted ? past.at(-1) : undefined
  return deletion ? [{ changed, revision: deletion.revision, count: past.length }] : []
}

/** Orders by revision. At the same revision, definitions come before modules. Names of the same kind are ordered by code unit. */
function byAge(a: Removable, b: Removable): number {
  return a.revision - b.revision || (keyOf(a.changed.name) < keyOf(b.changed.name) ? -1 : 1)
}

function keyOf({ kind, name }: Pick<KeptName, 'kind' | 'name'>): string {
  return `${kind}/${name}`
}
