import { createHash } from 'node:crypto'
import type { LayerRead, LayerSource } from '../../tools/catalog/layer-source.ts'
import { revisionNumber, revisionText } from '../../tools/records/layer-state.ts'
import type { LayerState } from '../../tools/records/layer-state.ts'
import { storedDefinition } from '../../tools/records/stored-records.ts'
import type { SchemaChecker } from '../../tools/schemas/schema-checker.ts'
import type { CallsUnderWay } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'
import type { StoreDeadlines } from './connect-firestore.ts'
import { ForeignDocuments, NOTHING_FOREIGN } from './foreign-documents.ts'
import type { ForeignContent } from './foreign-documents.ts'
import type { LayerLook, LayerReader } from './layer-readers.ts'
import { itemDocument, layerState } from './stored-documents.ts'
import type { ItemDocument } from './stored-documents.ts'

/** Other programs write without raising the revision; their changes are looked for after this long, in milliseconds. */
export const WHOLE_READ_MS = 5 * 60 * 1_000

export type LayerSourceParts = {
  readonly reader: LayerReader
  readonly checker: SchemaChecker
  readonly calls: CallsUnderWay
  readonly deadlines: StoreDeadlines
  readonly now: () => number
}

/** A look at the layer's revision, and what the same moment can still be asked for. */
type Check = { readonly state: LayerState | undefined; readonly items: LayerLook['items'] }

/** What the last whole read found that no revision of ours tells of, and how it shows in the revision. */
type Seen = { readonly marker: string; readonly foreign: ForeignContent }

/** One layer in Firestore: one read to ask for its revision, then only the definitions with a newer one. */
export class FirestoreLayerSource implements LayerSource {
  readonly #parts: LayerSourceParts
  readonly #foreign: ForeignDocuments
  #seen: Seen = { marker: '', foreign: NOTHING_FOREIGN }
  #wholeDueAt = -Infinity
  #isOutdated = false

  constructor(parts: LayerSourceParts) {
    this.#parts = parts
    this.#foreign = new ForeignDocuments(parts.checker)
  }

  async open(): Promise<void> {
    await this.#parts.reader.open?.()
  }

  async read(since?: string): Promise<LayerRead> {
    const { calls, deadlines } = this.#parts
    const { readMs, wholeReadMs } = deadlines
    try {
      const check = await calls.within(readMs, (signal) => this.#check(signal))
      if (this.#wholeDueAt === -Infinity) this.#postponeWhole()
      const changes =
        since === undefined || this.#isOutdated
          ? undefined
          : await calls.within(readMs, (signal) => this.#changes(check, since, signal))
      return changes ?? (await calls.within(wholeReadMs, (signal) => this.#whole(check, signal)))
    } catch (error) {
      throw firestoreError(error)
    }
  }

  async #check(signal: AbortSignal): Promise<Check> {
    const { document, items } = await this.#parts.reader.look(signal)
    return { state: layerState(document), items }
  }

  /** Undefined where only a whole read can tell. */
  async #changes(check: Check, since: string, signal: AbortSignal): Promise<LayerRead | undefined> {
    const { marker, foreign } = this.#seen
    const { state } = check
    const revision = `${revisionOf(state)}${marker}`
    if (revision === since) {
      this.#lookForOthers(check)
      return { revision, whole: false, definitions: [], deleted: [], skipped: foreign.skipped }
    }
    const known =
      state && since.endsWith(marker)
        ? revisionNumber(since.slice(0, since.length - marker.length), state)
        : undefined
    if (!state || known === undefined) return undefined
    const items = await check.items(signal, known)
    if (items.some(({ id }) => foreign.touched.has(id))) return undefined
    const changed = items.flatMap((item) => itemDocument(item) ?? [])
    return {
      revision,
      whole: false,
      definitions: changed.flatMap((item) => storedDefinition(item, state.epoch) ?? []),
      deleted: changed.flatMap((item) => (item.text === null ? item.name : [])),
      skipped: foreign.skipped,
    }
  }

  async #whole(check: Check, signal: AbortSignal): Promise<LayerRead> {
    this.#postponeWhole()
    const { own, seen } = await this.#readAll(check, signal)
    this.#seen = seen
    this.#isOutdated = false
    const epoch = check.state?.epoch ?? ''
    return {
      revision: `${revisionOf(check.state)}${seen.marker}`,
      whole: true,
      definitions: [
        ...own.flatMap((item) => storedDefinition(item, epoch) ?? []),
        ...seen.foreign.definitions,
      ],
      deleted: [],
      skipped: seen.foreign.skipped,
    }
  }

  async #readAll(check: Check, signal: AbortSignal): Promise<{ own: readonly ItemDocument[]; seen: Seen }> {
    const documents = await check.items(signal)
    const items = documents.map((document) => ({ document, item: itemDocument(document) }))
    const own = items.flatMap(({ item }) => (item && item.text !== null ? item : []))
    const others = items.flatMap(({ document, item }) => (item ? [] : document))
    const foreign = await this.#foreign.read(others, new Set(own.map(({ name }) => name)))
    return { own, seen: { marker: markerOf(own, foreign, check.state), foreign } }
  }

  /** Reads the whole layer while nobody waits for it: only if others have changed something, the next read is a whole one. */
  #lookForOthers(check: Check): void {
    if (this.#parts.now() < this.#wholeDueAt) return
    this.#postponeWhole()
    const { marker } = this.#seen
    const { calls, deadlines } = this.#parts
    void calls
      .within(deadlines.wholeReadMs, (signal) => this.#readAll(check, signal))
      .then(
        ({ seen }) => (this.#isOutdated ||= seen.marker !== marker),
        () => undefined,
      )
  }

  #postponeWhole(): void {
    this.#wholeDueAt = this.#parts.now() + WHOLE_READ_MS
  }
}

function revisionOf(state: LayerState | undefined): string {
  return state ? revisionText(state.revision, state.epoch) : '0'
}

/** Empty as long as all is ours and complete: then every instance knows a layer under the same revision. */
function markerOf(
  own: readonly ItemDocument[],
  foreign: ForeignContent,
  state: LayerState | undefined,
): string {
  const isComplete = own.length === (state?.size ?? 0)
  if (isComplete && foreign.touched.size === 0) return ''
  const names = isComplete ? [] : own.map(({ name, digest }) => [name, digest])
  const content = JSON.stringify([names, foreign.definitions, foreign.skipped])
  return `-${createHash('sha256').update(content).digest('hex').slice(0, 12)}`
}
