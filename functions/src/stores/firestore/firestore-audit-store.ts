import { isJsonObject, parsedJson } from '@toolrack/contract'
import { randomBytes } from 'node:crypto'
import type { CollectionReference, DocumentSnapshot, Firestore, Query } from 'firebase-admin/firestore'
import {
  ERASED_FIELDS,
  erasedPlace,
  RECORDS_READ_MAX,
  markedText,
  pageOf,
  placeOf,
  type AuditPage,
  type AuditQuery,
} from '../../features/audit/audit-store.ts'
import type { AuditStore, PlacedText, RecordPlaces } from '../../features/audit/audit-store.ts'
import { erasedText, partsOf, prevOf } from '../../features/audit/record.ts'
import type { ChainHead, ChainName, SealedRecord } from '../../features/audit/record.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'

/** The most milliseconds of a commit or a read. If Firestore does not answer, calls then do not wait long. */
const DEADLINE_MS = 5_000
/** The most milliseconds for erasing records or removing old days, because this needs many reads and writes. */
const LONG_DEADLINE_MS = 60_000
/** The most writes of one commit. Firestore allows 500. */
const WRITES_AT_ONCE = 400
/** A text that sorts after every place and every day. */
const NO_END = '~'
/** The name by which a query refers to the id of a document. The ids of chains and records begin with their day. */
const ID = '__name__'

/**
 * The audit trail in `toolrack/audit/records`, with one document for each record. Each instance of the service writes its own
 * chains of records. Clients of Firestore cannot read or write there.
 */
export class FirestoreAuditStore implements AuditStore {
  readonly isImmediate = false
  readonly instance: string
  readonly #connection: FirestoreConnection

  constructor(connection: FirestoreConnection, instance = `cloud-${randomBytes(8).toString('hex')}`) {
    this.#connection = connection
    this.instance = instance
  }

  /**
   * The last record in this instance's chain. An instance has a new name after each start. So at the start it has records only if
   * the answer to a commit was lost.
   */
  head = (): Promise<ChainHead | undefined> =>
    this.#within(async (firestore) => {
      const chains = await chainsOf(firestore).where('instance', '==', this.instance).get()
      return chains.docs
        .map((chain) => chain.data() as ChainHead)
        .toSorted((a, b) => (a.day < b.day ? 1 : -1))[0]
    })

  append = (records: readonly SealedRecord[]): Promise<void> =>
    this.#within(async (firestore) => {
      const batch = firestore.batch()
      for (const record of records) {
        const { instance, day, seq, kind, uid, tool, outcome, text } = record
        const kept = { instance, day, seq, kind, uid, tool, outcome, text, place: placeOf(record) }
        batch.create(recordsOf(firestore).doc(idOf(record)), kept)
      }
      // The last record of each day is the head of the chain.
      for (const { instance, day, seq, hash } of new Map(
        records.map((record) => [record.day, record]),
      ).values())
        batch.set(chainsOf(firestore).doc(`${day}.${instance}`), { instance, day, seq, hash })
      await batch.commit()
    })

  page = ({
    uid,
    tool,
    outcome,
    since = '',
    until = NO_END,
    limit,
    before,
  }: AuditQuery): Promise<AuditPage> =>
    this.#within(async (firestore) => {
      const end = before !== undefined && before < until ? before : until
      const most = tool !== undefined || outcome !== undefined ? RECORDS_READ_MAX : limit + 1
      const records = recordsOf(firestore)
      const own: Query = uid === undefined ? records : records.where('uid', '==', uid)
      const found = await own
        .where('place', '<', end)
        .where('place', '>=', since)
        .orderBy('place', 'desc')
        .limit(most)
        .get()
      const rows = found.docs.map((record) => record.data() as PlacedText)
      return pageOf(rows, { tool, outcome, limit }, rows.length === most)
    })

  count = (day?: string): Promise<number> =>
    this.#within(async (firestore) => {
      const records: Query = recordsOf(firestore)
      const found = await (day === undefined ? records : records.where('day', '==', day)).count().get()
      return found.data().count
    }, LONG_DEADLINE_MS)

  days = (before = NO_END): Promise<readonly string[]> =>
    this.#within(async (firestore) => {
      const chains = await chainsOf(firestore).where('day', '<', before).select('day').get()
      return [...new Set(chains.docs.map((chain) => String(chain.get('day'))))].toSorted()
    })

  chains = (day: string): Promise<readonly ChainHead[]> =>
    this.#within(async (firestore) => {
      const chains = await chainsOf(firestore).where('day', '==', day).get()
      const heads = chains.docs.map((chain) => {
        const head = chain.data() as ChainHead
        // The head of a chain is used only if its document has the id that belongs to the chain. With another id, the document
        // would not change when the chain grows. An empty hash, which no record has, reports this fault.
        return chain.id === `${day}.${head.instance}` ? head : { ...head, hash: '' }
      })
      return heads.toSorted((a, b) => (a.instance < b.instance ? -1 : 1))
    })

  texts = ({ instance, day }: ChainName, seq: number, limit: number): Promise<readonly string[]> =>
    this.#within(async (firestore) => {
      // No document can have an id with a slash. So if somebody has put a slash into the chain's document, there are no such
      // records.
      if (idOf({ instance, day, seq }).includes('/')) return []
      const places = Array.from({ length: limit }, (_, index) => ({ instance, day, seq: seq + index + 1 }))
      const found = await firestore.getAll(...places.map((place) => recordsOf(firestore).doc(idOf(place))))
      const end = found.findLastIndex((record) => record.exists)
      // A missing record between other records gets an entry too, so that the reader continues after it.
      return found.slice(0, end + 1).map(checkedText)
    })

  manifests = (): Promise<readonly string[]> =>
    this.#within(async (firestore) => {
      const found = await manifestsOf(firestore).orderBy('day').get()
      return found.docs.map((manifest) => {
        const text = String(manifest.get('text'))
        const value = parsedJson(text)
        const isOfDay =
          isJsonObject(value) && value['day'] === manifest.get('day') && value['day'] === manifest.id
        return isOfDay || !isJsonObject(value) ? text : markedText(text)
      })
    })

  keepManifest = (day: string, text: string): Promise<void> =>
    this.#within(async (firestore) => {
      const document = manifestsOf(firestore).doc(day)
      await firestore.runTransaction(async (transaction) => {
        if (!(await transaction.get(document)).exists) transaction.create(document, { day, text })
      })
    })

  placesOf = (uid: string): Promise<readonly RecordPlaces[]> =>
    this.#within(async (firestore) => {
      const found = await recordsOf(firestore)
        .where('uid', '==', uid)
        .select('instance', 'day', 'seq', 'kind')
        .get()
      const places = new Map<string, ChainName & { seqs: number[] }>()
      for (const record of found.docs) {
        const { instance, day, seq, kind } = record.data() as SealedRecord
        if (kind === 'erasure' || kind === 'retention') continue
        const chain = places.get(`${day}.${instance}`) ?? { instance, day, seqs: [] }
        places.set(`${day}.${instance}`, chain)
        chain.seqs.push(seq)
      }
      for (const { seqs } of places.values()) seqs.sort((a, b) => a - b)
      return [...places.values()]
    }, LONG_DEADLINE_MS)

  erase = ({ instance, day, seqs }: RecordPlaces): Promise<void> =>
    this.#within(async (firestore) => {
      for (let from = 0; from < seqs.length; from += WRITES_AT_ONCE) {
        const some = seqs.slice(from, from + WRITES_AT_ONCE)
        const documents = some.map((seq) => recordsOf(firestore).doc(idOf({ instance, day, seq })))
        const batch = firestore.batch()
        for (const record of await firestore.getAll(...documents)) {
          if (!record.exists) continue
          const { seq, text } = record.data() as SealedRecord
          const place = { instance, day, seq }
          const erased = erasedText({ ...place, hash: partsOf(text)?.hash ?? '' }, prevOf(text))
          batch.update(record.ref, { ...ERASED_FIELDS, place: erasedPlace(place), text: erased })
        }
        await batch.commit()
      }
    }, LONG_DEADLINE_MS)

  erasures = (): Promise<readonly string[]> =>
    this.#within(async (firestore) => {
      const found = await recordsOf(firestore).where('kind', '==', 'erasure').get()
      return found.docs.map((record) => String(record.get('text')))
    })

  /**
   * Removes the heads of the chains first. If the removal is interrupted, records without a chain are left. The next removal
   * finds them.
   */
  removeBefore = (day: string): Promise<void> =>
    this.#within(async (firestore) => {
      await removeAll(firestore, chainsOf(firestore).where(ID, '<', day))
      await removeAll(firestore, recordsOf(firestore).where(ID, '<', day))
    }, LONG_DEADLINE_MS)

  close = (): Promise<void> => this.#connection.close()

  async #within<T>(act: (firestore: Firestore) => Promise<T>, ms = DEADLINE_MS): Promise<T> {
    try {
      return await this.#connection.calls.within(ms, async () => act(await this.#connection.client()))
    } catch (error) {
      throw firestoreError(error)
    }
  }
}

/**
 * The text of a record. Other fields of the document have copies of parts of this text, for searches and erasures. If one of
 * these copies was changed, the returned text says so.
 */
function checkedText(document: DocumentSnapshot): string {
  const text = String(document.get('text') ?? '')
  const value = parsedJson(text)
  if (!isJsonObject(value)) return text
  const { day, instance, seq, kind, at, tool, outcome, principal } = value as Partial<SealedRecord> & {
    readonly principal?: { readonly uid: string }
  }
  const chained = { day: day ?? '', instance: instance ?? '', seq: Number(seq) }
  const copies =
    value['erased'] === true
      ? { ...ERASED_FIELDS, place: erasedPlace(chained) }
      : { kind, uid: principal?.uid, tool, outcome, place: placeOf({ ...chained, at: at ?? '' }) }
  const isSame = Object.entries({ ...chained, ...copies }).every(
    ([name, copy]) => document.get(name) === copy,
  )
  return isSame ? text : markedText(text)
}

/**
 * Removes the documents that the query finds, in batches, until it finds none. So the work grows only with the documents that
 * exist.
 */
async function removeAll(firestore: Firestore, query: Query): Promise<void> {
  for (;;) {
    const { docs } = await query.select().limit(WRITES_AT_ONCE).get()
    const batch = firestore.batch()
    for (const { ref } of docs) batch.delete(ref)
    if (docs.length > 0) await batch.commit()
    if (docs.length < WRITES_AT_ONCE) return
  }
}

function idOf({ instance, day, seq }: ChainName & { readonly seq: number }): string {
  return `${day}.${instance}.${seq}`
}

function recordsOf(firestore: Firestore): CollectionReference {
  return firestore.collection('toolrack').doc('audit').collection('records')
}

function chainsOf(firestore: Firestore): CollectionReference {
  return firestore.collection('toolrack').doc('audit').collection('chains')
}

function manifestsOf(firestore: Firestore): CollectionReference {
  return firestore.collection('toolrack').doc('audit').collection('manifests')
}
