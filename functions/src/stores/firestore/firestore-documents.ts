import { randomUUID } from 'node:crypto'
import type { Firestore, Query, QueryDocumentSnapshot } from 'firebase-admin/firestore'
import {
  put,
  type Collection,
  type Planned,
  type Ref,
  type Sums,
  type Write,
} from '../../documents/collection.ts'
import {
  type Kept,
  type Documents,
  type Found,
  type ListOptions,
  type Version,
} from '../../documents/documents.ts'
import {
  checkRef,
  fitting,
  foundOf,
  indexOf,
  isCounted,
  stored,
  unexpired,
  versionsOf,
  type StoredDocument,
} from '../../documents/stored-document.ts'
import { STORE_DEADLINES } from './connect-firestore.ts'
import {
  collectionOf,
  dataOf,
  documentAt,
  HEAD_FIELDS,
  isPlain,
  segmentsOf,
  storedIn,
  type Data,
} from './document-data.ts'
import { DocumentChanges, inTransaction, type WriteMark } from './document-changes.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'
import { OldestAbove } from './oldest-above.ts'
import { restData } from './rest-data.ts'

/**
 * How many expired documents are erased when a quota has no room. Without this, Firestore deletes a document some time after it
 * has expired.
 */
const ERASED_AT_ONCE = 200

/** A write for which the quota has room. */
type Ready = { readonly write: Write; readonly next: StoredDocument | undefined }

/**
 * The documents of all features, below the document of their owner (`segmentsOf`). If the connection has REST, they are read by
 * REST, as layers are. The sums of a quota are counted before a write and not in its transaction, so simultaneous writes can
 * exceed the quota.
 */
export class FirestoreDocuments implements Documents {
  readonly #connection: FirestoreConnection
  readonly #changes: DocumentChanges
  readonly #oldest = new Map<string, OldestAbove>()
  readonly #refusals = new WeakSet<object>()
  readonly #now: () => number

  constructor(connection: FirestoreConnection, { now = Date.now }: { readonly now?: () => number } = {}) {
    this.#connection = connection
    this.#changes = new DocumentChanges(connection)
    this.#now = now
  }

  open = async (): Promise<void> => {
    if (!this.#connection.rest) await this.#connection.client().catch(() => undefined)
  }

  read = async <const Refs extends readonly Ref[]>(owner: string, refs: Refs): Promise<Found<Refs>> => {
    if (refs.length === 0) return [] as unknown as Found<Refs>
    return this.#within(waitOf(refs).read, async (signal) => {
      return foundOf(refs, this.#stored(refs, await this.#data(owner, refs, signal)))
    })
  }

  list = <Fields extends object>(
    owner: string,
    of: Collection<Fields>,
    { limit, order, equal, after }: ListOptions,
  ): Promise<readonly Kept<Fields>[]> =>
    this.#within(waitOf([{ of, key: '' }]).read, async () => {
      const { FieldPath } = await import('@google-cloud/firestore')
      const firestore = await this.#connection.client()
      const documents: Query = collectionOf(firestore, owner, of)
      const place = isPlain(of) ? (of.index ?? '') : 'listedBy'
      const found = equal === undefined ? documents : documents.where(place, '==', equal)
      const sorted = order ? found.orderBy(place, order) : found.orderBy(FieldPath.documentId())
      const query = isPlain(of) ? sorted : sorted.select(...HEAD_FIELDS)
      return this.#page(of, after === undefined ? query : query.startAfter(after), limit)
    })

  change = async <const Refs extends readonly Ref[], Result>(
    owner: string,
    refs: Refs,
    plan: (found: Found<Refs>) => Planned<Result>,
  ): Promise<Result> => {
    try {
      return await this.#change(owner, refs, plan)
    } catch (error) {
      if (!this.#refusals.has(error as object) || !(await this.#erase(owner, refs))) throw error
      return this.#change(owner, refs, plan)
    }
  }

  /**
   * Claims of one key do not wait for each other. If many callers claim it, only the first one writes, and the others only read.
   */
  claim = <Fields extends object>(
    owner: string,
    to: Ref<Fields>,
    fields: Fields,
  ): Promise<Kept<Fields> | undefined> => {
    const mark: WriteMark = { writeId: randomUUID() }
    return this.#within(waitOf([to]).change, async (signal) => {
      const firestore = await this.#connection.client()
      const document = documentAt(firestore, checked(owner, to))
      return inTransaction(firestore, signal, async (transaction) => {
        const data = (await transaction.get(document)).data()
        const [kept] = foundOf([to], this.#stored([to], [data]))
        // If the answer to the first attempt's commit was lost, the second attempt finds that the key is claimed by the first.
        if (kept) return data?.['writeId'] === mark.writeId ? undefined : kept
        const next = stored(put(to, fields), undefined)
        transaction.set(document, { ...dataOf(to.of, fields, next, this.#now()), ...mark })
        return undefined
      })
    })
  }

  history = <Fields extends object>(owner: string, of: Ref<Fields>): Promise<readonly Version<Fields>[]> =>
    this.#within(waitOf([of]).read, async (signal) => {
      const documents = this.#stored([of], await this.#data(owner, [of], signal, true))
      const [kept] = foundOf([of], documents)
      return kept ? versionsOf(of.of, kept, documents[0]?.past) : []
    })

  async #change<const Refs extends readonly Ref[], Result>(
    owner: string,
    refs: Refs,
    plan: (found: Found<Refs>) => Planned<Result>,
  ): Promise<Result> {
    const segments = refs.map((ref) => checked(owner, ref))
    let written: readonly Ready[] = []
    const result = await this.#changes.change(
      waitOf(refs).change,
      async () => documentAt(await this.#connection.client(), segments[0] ?? []),
      async (transaction, first, mark) => {
        const { firestore } = first
        const found = await transaction.getAll(...segments.map((one) => documentAt(firestore, one)))
        const seen = this.#stored(
          refs,
          found.map((document) => document.data()),
        )
        const { result, writes = [] } = plan(foundOf(refs, seen))
        written = []
        const ready: Ready[] = []
        for (const write of writes)
          ready.push({ write, next: await this.#ready(firestore, owner, write, seen[indexOf(refs, write)]) })
        for (const { write, next } of ready) {
          const document = documentAt(firestore, checked(owner, write.to))
          if (!next || !write.fields) {
            transaction.delete(document)
            continue
          }
          const data = dataOf(write.to.of, write.fields, next, this.#now())
          // Fields that other programs have written stay in the document. Each field of this service is replaced as a whole, and
          // not merged.
          if (isPlain(write.to.of)) transaction.set(document, data, { mergeFields: Object.keys(data) })
          else transaction.set(document, { ...data, ...(document.path === first.path && mark) })
        }
        written = ready
        return result
      },
    )
    for (const { write, next } of written) await this.#countBody(owner, write.to.of, next)
    return result
  }

  /** The document as it is after a write. Undefined if the write deletes it. */
  async #ready(
    firestore: Firestore,
    owner: string,
    write: Write,
    before: StoredDocument | undefined,
  ): Promise<StoredDocument | undefined> {
    if (!write.fields) return undefined
    const { of } = write.to
    const next = stored(write, before)
    if (!isCounted(of, before, next)) return next
    const sums = await sumsOf(firestore, owner, of)
    try {
      return fitting(of, before, next, sums)
    } catch (error) {
      this.#refusals.add(error as object)
      throw error
    }
  }

  /** Adds a stored body to the bytes of its owner. If there are too many bytes, drops older bodies. */
  async #countBody(owner: string, of: Collection, next: StoredDocument | undefined): Promise<void> {
    const { quota } = of
    if (next?.body === undefined || !quota?.dropsOldest) return
    const fields = [...HEAD_FIELDS, 'writeId']
    const known = this.#oldest.get(of.name)
    const oldest =
      known ??
      new OldestAbove(this.#connection, {
        userBytes: quota.bytes ?? Infinity,
        documentsOf: async (uid) => collectionOf(await this.#connection.client(), uid, of),
        order: 'bodyAt',
        fields,
        // Writes the document without its body.
        drop: (batch, document) =>
          void batch.set(document.ref, Object.fromEntries(fields.map((name) => [name, document.get(name)]))),
      })
    this.#oldest.set(of.name, oldest)
    await oldest.count(owner, next.bytes)
  }

  /** Erases expired documents of the collections that have a quota. Returns true if it has erased any. */
  async #erase(owner: string, refs: readonly Ref[]): Promise<boolean> {
    const collections = new Set(refs.map(({ of }) => of).filter((of) => of.quota && of.expires))
    return this.#within(waitOf(refs).change, async () => {
      let isErased = false
      for (const of of collections) {
        const documents = collectionOf(await this.#connection.client(), owner, of)
        const over = documents.where('expiresAt', '<=', new Date(this.#now())).select().limit(ERASED_AT_ONCE)
        const found = await over.get()
        const batch = documents.firestore.batch()
        for (const { ref, updateTime } of found.docs) batch.delete(ref, { lastUpdateTime: updateTime })
        if (!found.empty) await batch.commit()
        isErased ||= !found.empty
      }
      return isErased
    })
  }

  async #page<Fields extends object>(
    of: Collection<Fields>,
    query: Query,
    limit: number,
  ): Promise<readonly Kept<Fields>[]> {
    const kept: Kept<Fields>[] = []
    let last: QueryDocumentSnapshot | undefined
    for (;;) {
      const wanted = limit - kept.length
      const { docs } = await (last ? query.startAfter(last) : query).limit(wanted).get()
      const refs = docs.map(({ id }) => ({ of, key: id }))
      const data = docs.map((document) => document.data())
      for (const one of foundOf(refs, this.#stored(refs, data))) if (one) kept.push(one)
      last = docs.at(-1)
      if (docs.length < wanted || kept.length >= limit) return kept
    }
  }

  #stored(
    refs: readonly Ref[],
    data: readonly (Data | undefined)[],
  ): readonly (StoredDocument | undefined)[] {
    const nowMs = this.#now()
    return refs.map((ref, at) => unexpired(storedIn(ref, data[at]), nowMs))
  }

  /** The data of these documents, in the order of `refs`. Earlier versions are read only if a history needs them. */
  async #data(
    owner: string,
    refs: readonly Ref[],
    signal: AbortSignal,
    hasPast = false,
  ): Promise<readonly (Data | undefined)[]> {
    const segments = refs.map((ref) => checked(owner, ref))
    const fieldPaths = [...HEAD_FIELDS, 'body']
    const isWhole = hasPast || !refs.some(({ of }) => of.versions !== undefined)
    const { rest } = this.#connection
    if (!rest) {
      const firestore = await this.#connection.client()
      const documents = segments.map((one) => documentAt(firestore, one))
      const mask = isWhole ? [] : [{ fieldMask: fieldPaths }]
      return (await firestore.getAll(...documents, ...mask)).map((document) => document.data())
    }
    const names = segments.map((one) => rest.name(one))
    const body = { documents: names, ...(!isWhole && { mask: { fieldPaths } }) }
    const elements = await rest.ask({ at: [], method: 'batchGet', body, read: (one) => [one], signal })
    if (elements.every(({ readTime }) => readTime === undefined))
      throw new Error('Firestore sent no time of the read')
    const found = new Map(
      elements.flatMap((one) => (one.found ? [[one.found.name, one.found.fields] as const] : [])),
    )
    return names.map((name) => (found.has(name) ? restData(found.get(name)) : undefined))
  }

  async #within<Result>(ms: number, act: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    try {
      return await this.#connection.calls.within(ms, act)
    } catch (error) {
      throw firestoreError(error)
    }
  }
}

/** The time limits for these documents. They are those of the first collection that has its own, otherwise the usual ones. */
function waitOf(refs: readonly Ref[]): { readonly read: number; readonly change: number } {
  const usual = { read: STORE_DEADLINES.readMs, change: STORE_DEADLINES.writeMs }
  return refs.find(({ of }) => of.waitMs)?.of.waitMs ?? usual
}

function checked(owner: string, ref: Ref): readonly string[] {
  checkRef(owner, ref)
  return segmentsOf(owner, ref)
}

async function sumsOf(firestore: Firestore, owner: string, of: Collection): Promise<Sums> {
  const documents = collectionOf(firestore, owner, of)
  if (isPlain(of)) return { count: (await documents.count().get()).data().count, bytes: 0 }
  const { AggregateField } = await import('@google-cloud/firestore')
  const wanted = { count: AggregateField.count(), bytes: AggregateField.sum('bytes') }
  const { count, bytes } = (await documents.where('bytes', '>', 0).aggregate(wanted).get()).data()
  return { count, bytes }
}
