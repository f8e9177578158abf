import type {
  CollectionReference,
  DocumentReference,
  DocumentSnapshot,
  Transaction,
} from 'firebase-admin/firestore'
import { VERSIONS_KEPT } from '../../tools/definitions/definition-store.ts'
import { afterForgotten } from '../../tools/definitions/layer-totals.ts'
import type { LayerLimits, LayerTotals } from '../../tools/definitions/layer-totals.ts'
import { keptItem, keptModule, nameDocument } from './kept-names.ts'
import type { KeptName, SizedVersion } from './kept-names.ts'
import { itemsOf, modulesOf, versionsOf } from './layer-paths.ts'

/** Names that one question brings, and questions that one write asks: so much goes at most with it, and the rest with the next. */
const NAMES_AT_ONCE = 50
const QUESTIONS_MAX = 10

/** A source, and a version that has gone and had it. */
export type Released = { readonly sha256: string; readonly version: string }

type Changed = { readonly before: KeptName; after: KeptName }

/**
 * What goes from one layer to make room, inside a transaction: it asks for the oldest that may go, and has nothing written before
 * `write`. What the transaction writes itself has to be told before, as it will be.
 */
export class LayerRoom {
  totals: LayerTotals
  floor: number
  readonly #transaction: Transaction
  readonly #layer: DocumentReference
  readonly #names = new Map<string, Changed>()
  readonly #written = new Set<string>()
  readonly #told = new Set<string>()

  constructor(transaction: Transaction, layer: DocumentReference, totals: LayerTotals, floor: number) {
    this.#transaction = transaction
    this.#layer = layer
    this.totals = totals
    this.floor = floor
  }

  /** A name that the transaction writes: as it will be, were there room. Its versions that are too many go. */
  willBe(name: KeptName): void {
    const versions = name.versions.slice(-VERSIONS_KEPT)
    const dropped = name.versions.slice(0, -VERSIONS_KEPT)
    for (const { bytes } of dropped) this.totals = afterForgotten(this.totals, bytes, false)
    this.#names.set(name.reference.path, { before: name, after: { ...name, versions } })
    this.#written.add(name.reference.path)
  }

  /** A name that was written before names said what may go: it is written again, as it is. */
  tell(name: KeptName): void {
    if (this.#names.has(name.reference.path)) return
    this.#names.set(name.reference.path, { before: name, after: name })
    this.#told.add(name.reference.path)
  }

  async shrinkTo({ bytesMax, deletedMax }: LayerLimits): Promise<void> {
    await this.#forget('deletedAt', () => this.totals.deleted > deletedMax)
    await this.#forget('oldest', () => this.totals.bytes > bytesMax)
  }

  /** What is left of a name that the transaction writes; undefined where nothing is. */
  left(reference: DocumentReference): KeptName | undefined {
    const name = this.#names.get(reference.path)?.after
    return name && name.versions.length > 0 ? name : undefined
  }

  get released(): readonly Released[] {
    return [...this.#names.values()].flatMap((name) =>
      forgottenOf(name).flatMap(({ sha256, revision }) =>
        sha256 ? { sha256, version: `${name.before.reference.id}@${revision}` } : [],
      ),
    )
  }

  /** Removes what goes. A name that the transaction writes is for whoever writes it. */
  write(): void {
    for (const [path, name] of this.#names) {
      const { reference } = name.before
      const forgotten = forgottenOf(name)
      for (const { revision } of forgotten)
        this.#transaction.delete(versionsOf(reference).doc(String(revision)))
      const left = this.left(reference)
      if (!left) this.#transaction.delete(reference)
      else if (!this.#written.has(path) && (forgotten.length > 0 || this.#told.has(path))) this.#update(left)
    }
  }

  #update({ reference, isDeleted, versions }: KeptName): void {
    const isModule = reference.parent.path === modulesOf(this.#layer).path
    this.#transaction.update(reference, {
      versions: versions.map(({ revision, sha256 = null }) => (isModule ? { revision, sha256 } : revision)),
      ...nameDocument({ isDeleted, versions }),
    })
  }

  /** Asks for more names as long as there may be an older one than those at hand. */
  async #forget(by: 'oldest' | 'deletedAt', isTooMuch: () => boolean): Promise<void> {
    if (!isTooMuch()) return
    const sources = [
      new Pages(this.#transaction, itemsOf(this.#layer), by, keptItem),
      new Pages(this.#transaction, modulesOf(this.#layer), by, keptModule),
    ]
    for (let questions = 0; questions < QUESTIONS_MAX && isTooMuch(); questions += 1) {
      for (const source of sources)
        for (const name of await source.next())
          if (!this.#names.has(name.reference.path))
            this.#names.set(name.reference.path, { before: name, after: name })
      const reached = Math.min(...sources.map((source) => source.reached))
      while (isTooMuch() && this.#forgetOldest(by, reached)) continue
      if (reached === Infinity) return
    }
  }

  /** False where none is as old as what has been asked for. */
  #forgetOldest(by: 'oldest' | 'deletedAt', reached: number): boolean {
    let oldest: Changed | undefined
    for (const name of this.#names.values()) {
      const age = nameDocument(name.after)[by]
      if (age !== null && age <= reached && (!oldest || isOlder(name, oldest, by))) oldest = name
    }
    if (!oldest) return false
    const count = by === 'oldest' ? 1 : oldest.after.versions.length
    for (let index = 0; index < count; index += 1) this.#forgetVersion(oldest)
    return true
  }

  #forgetVersion(name: Changed): void {
    const [version, ...versions] = name.after.versions
    if (!version) return
    const isNameGone = versions.length === 0
    name.after = { ...name.after, versions }
    this.totals = afterForgotten(this.totals, version.bytes, isNameGone)
    if (isNameGone) this.floor = Math.max(this.floor, version.revision)
  }
}

/** The names of one collection, those with the oldest first, a part at a time. */
class Pages {
  /** The age of the last one that came; everything older is at hand. */
  reached = -Infinity
  readonly #transaction: Transaction
  readonly #collection: CollectionReference
  readonly #by: string
  readonly #read: (snapshot: DocumentSnapshot) => KeptName | undefined
  #last: DocumentSnapshot | undefined

  constructor(
    transaction: Transaction,
    collection: CollectionReference,
    by: string,
    read: (snapshot: DocumentSnapshot) => KeptName | undefined,
  ) {
    this.#transaction = transaction
    this.#collection = collection
    this.#by = by
    this.#read = read
  }

  async next(): Promise<readonly KeptName[]> {
    if (this.reached === Infinity) return []
    const query = this.#collection.where(this.#by, '>', 0).orderBy(this.#by).limit(NAMES_AT_ONCE)
    const found = await this.#transaction.get(this.#last ? query.startAfter(this.#last) : query)
    this.#last = found.docs.at(-1)
    this.reached = found.size < NAMES_AT_ONCE ? Infinity : Number(this.#last?.get(this.#by))
    return found.docs.flatMap((snapshot) => this.#read(snapshot) ?? [])
  }
}

function forgottenOf({ before, after }: Changed): readonly SizedVersion[] {
  return before.versions.slice(0, before.versions.length - after.versions.length)
}

/** Of one revision, definitions come before modules, and names in the order of their code units, as in every store. */
function isOlder({ after: a }: Changed, { after: b }: Changed, by: 'oldest' | 'deletedAt'): boolean {
  const difference = Number(nameDocument(a)[by]) - Number(nameDocument(b)[by])
  if (difference !== 0) return difference < 0
  // `…/tools/defs/items/…` comes before `…/tools/modules/items/…`.
  return a.reference.path < b.reference.path
}
