import { LRUCache } from 'lru-cache'
import type { LayeredDigest } from '../../catalog/views/catalog-entry.ts'
import { EVERYBODY, put, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { object, recordOf, type Test } from '../../value-shape.ts'
import { OPEN_MS } from './circuit.ts'

/** The least milliseconds between two reads of the document. So an instance makes at most six reads a minute. */
const LOOK_MS = 10_000
/** The most circuits in the document, so that it stays far below the size that Firestore allows. Those that open last stay. */
const KEPT_MAX = 200

/** The circuits that are open for everybody: tools, each with the time at which it ends (ms since 1970). */
type OpenCircuits = { readonly open: Readonly<Record<LayeredDigest, number>> }

const isTime: Test<number> = (value): value is number => Number.isSafeInteger(value)
const CIRCUITS: Collection<OpenCircuits> = {
  name: 'circuits',
  owner: 'everybody',
  fields: object<OpenCircuits>({ open: recordOf(isTime) }),
}
const OPEN: Ref<OpenCircuits> = { of: CIRCUITS, key: 'open' }

type Parts = {
  readonly documents: Documents
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds of a clock that never jumps. */
  readonly steadyMs: () => number
  readonly log: Pick<Log, 'warn'>
  /** Called when another instance has opened a circuit for everybody. */
  readonly opened: (key: LayeredDigest, leftMs: number) => void
}

/** Tells other instances which circuits are open for everybody, and learns it from them. Nothing here waits for the store. */
export class OtherInstances {
  readonly #parts: Parts
  /** What this instance has told or taken. Equal news are not taken twice, so a wrong clock keeps no circuit open. */
  readonly #known = new LRUCache<LayeredDigest, number>({ max: KEPT_MAX })
  readonly #untold = new Map<LayeredDigest, number>()
  #lookedMs = -Infinity
  #reading: Promise<void> | undefined
  #writing: Promise<void> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Begins to read what other instances have told, unless this instance has just done so. */
  look(): void {
    const nowMs = this.#parts.steadyMs()
    if (this.#reading || nowMs - this.#lookedMs < LOOK_MS) return
    this.#lookedMs = nowMs
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined
    })
  }

  /** Begins to tell other instances until when a circuit is open. */
  tell(key: LayeredDigest, until: number): void {
    this.#known.set(key, until)
    this.#untold.set(key, until)
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
  }

  async close(): Promise<void> {
    await Promise.all([this.#reading, this.#writing])
  }

  async #read(): Promise<void> {
    const { documents, now, log, opened } = this.#parts
    try {
      const [kept] = await documents.read(EVERYBODY, [OPEN])
      for (const [key, until] of entriesOf(kept?.fields)) {
        const leftMs = Math.min(until - now(), OPEN_MS)
        if (leftMs <= 0 || this.#known.get(key) === until) continue
        this.#known.set(key, until)
        opened(key, leftMs)
      }
    } catch (error) {
      log.warn('the open circuits of other instances could not be read', { reason: reasonOf(error) })
    }
  }

  async #write(): Promise<void> {
    const { documents, now, log } = this.#parts
    while (this.#untold.size > 0) {
      const news = [...this.#untold]
      this.#untold.clear()
      try {
        await documents.change(EVERYBODY, [OPEN], ([kept]) => {
          const open = [...new Map([...entriesOf(kept?.fields), ...news])]
            .filter(([, until]) => until > now())
            .toSorted(([, a], [, b]) => b - a)
            .slice(0, KEPT_MAX)
          return { result: undefined, writes: [put(OPEN, { open: Object.fromEntries(open) })] }
        })
      } catch (error) {
        log.warn('other instances were not told which circuits are open', { reason: reasonOf(error) })
      }
    }
  }
}

function entriesOf(fields: OpenCircuits | undefined): readonly [LayeredDigest, number][] {
  return Object.entries(fields?.open ?? {}) as [LayeredDigest, number][]
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}
