import { createHash } from 'node:crypto'
import type { LayerRead, LayerSource } from '../../catalog/views/layer-source.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { CallsUnderWay } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'
import type { StoreDeadlines } from './connect-firestore.ts'
import { foreignReader, NOTHING_FOREIGN, type ForeignContent } from './foreign-documents.ts'
import type { LayerAtMoment, LayerReader } from './layer-readers.ts'
import { itemDocument, type FoundDocument, type ItemDocument } from './stored-documents.ts'
import { deletionOf, storedDefinition } from '../../catalog/definitions/stored-records.ts'
import {
  forgottenRevision,
  revisionNumber,
  revisionText,
  type LayerState,
} from '../../catalog/definitions/layer-state.ts'

/**
 * The milliseconds between two reads of the whole layer. Only such a read finds changes that other programs made, because those
 * changes do not raise the revision.
 */
export const WHOLE_READ_MS = 5 * 60 * 1_000

type LayerSourceParts = {
  readonly reader: LayerReader
  readonly compilers: SchemaCompilers
  readonly calls: CallsUnderWay
  readonly deadlines: StoreDeadlines
  readonly now: () => number
}

/** What the last read of the whole layer has found of other programs, and the marker that it adds to the revision. */
type Seen = ForeignContent & { readonly marker: string }

/**
 * One layer in Firestore. A read asks for the layer's revision, and then only for the definitions that have a higher revision.
 */
export class FirestoreLayerSource implements LayerSource {
  readonly #parts: LayerSourceParts
  readonly #readForeign: ReturnType<typeof foreignReader>
  #seen: Seen = { ...NOTHING_FOREIGN, marker: '' }
  #wholeDueAt = -Infinity
  #isOutdated = false

  constructor(parts: LayerSourceParts) {
    this.#parts = parts
    this.#readForeign = foreignReader(parts.compilers)
  }

  async open(): Promise<void> {
    await this.#parts.reader.open?.()
  }

  async read(since?: string): Promise<LayerRead> {
    const { reader, calls, deadlines } = this.#parts
    const { readMs, wholeReadMs } = deadlines
    try {
      const layer = await calls.within(readMs, (signal) => reader.read(signal))
      if (this.#wholeDueAt === -Infinity) this.#postponeWhole()
      const changes =
        since === undefined || this.#isOutdated
          ? undefined
          : await calls.within(readMs, (signal) => this.#changes(layer, since, signal))
      return changes ?? (await calls.within(wholeReadMs, (signal) => this.#whole(layer, signal)))
    } catch (error) {
      throw firestoreError(error)
    }
  }

  /** The changes since a revision. Undefined if the whole layer must be read to find them. */
  async #changes(layer: LayerAtMoment, since: string, signal: AbortSignal): Promise<LayerRead | undefined> {
    const { marker, skipped, touched } = this.#seen
    const { state } = layer
    const revision = `${revisionOf(state)}${marker}`
    if (revision === since) {
      this.#checkForeign(layer)
      return { revision, whole: false, definitions: [], deleted: [], skipped }
    }
    const known =
      state && since.endsWith(marker)
        ? revisionNumber(since.slice(0, since.length - marker.length), state)
        : undefined
    if (!state || known === undefined) return undefined
    const items = await layer.items(signal, known)
    if (items.some(({ id }) => touched.has(id))) return undefined
    const changed = items.flatMap((item) => itemDocument(item) ?? [])
    const deletions = changed.flatMap((item) => deletionOf(item, state.epoch) ?? [])
    return {
      revision,
      whole: false,
      definitions: changed.flatMap((item) => storedDefinition(item, state.epoch) ?? []),
      deleted: deletions.map(({ name }) => name),
      deletions,
      forgotten: forgottenRevision(state),
      skipped,
    }
  }

  async #whole(layer: LayerAtMoment, signal: AbortSignal): Promise<LayerRead> {
    this.#postponeWhole()
    const { own, tombstones, seen } = await this.#readAll(layer, signal)
    this.#seen = seen
    this.#isOutdated = false
    const { epoch = '' } = layer.state ?? {}
    const ours = own.flatMap((item) => storedDefinition(item, epoch) ?? [])
    return {
      revision: `${revisionOf(layer.state)}${seen.marker}`,
      whole: true,
      definitions: [...ours, ...seen.definitions],
      deleted: [],
      deletions: tombstones.flatMap((item) => deletionOf(item, epoch) ?? []),
      forgotten: layer.state && forgottenRevision(layer.state),
      skipped: seen.skipped,
    }
  }

  async #readAll(
    { state, items }: LayerAtMoment,
    signal: AbortSignal,
  ): Promise<{ own: readonly ItemDocument[]; tombstones: readonly ItemDocument[]; seen: Seen }> {
    const own: ItemDocument[] = []
    const tombstones: ItemDocument[] = []
    const others: FoundDocument[] = []
    for (const document of await items(signal)) {
      const item = itemDocument(document)
      if (!item) others.push(document)
      else if (item.text === null) tombstones.push(item)
      else own.push(item)
    }
    const foreign = await this.#readForeign(others, new Set(own.map(({ name }) => name)))
    return { own, tombstones, seen: { ...foreign, marker: markerOf(own, foreign, state) } }
  }

  /**
   * Reads the whole layer in the background. If other programs have changed something, the next `read` reads the whole layer too.
   */
  #checkForeign(layer: LayerAtMoment): void {
    if (this.#parts.now() < this.#wholeDueAt) return
    this.#postponeWhole()
    const { marker } = this.#seen
    const { calls, deadlines } = this.#parts
    void calls
      .within(deadlines.wholeReadMs, (signal) => this.#readAll(layer, signal))
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

/**
 * A text that identifies the content that other programs wrote. Empty if this service wrote all documents, and none of them is
 * missing. Then the layer has the same revision in every instance.
 */
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
