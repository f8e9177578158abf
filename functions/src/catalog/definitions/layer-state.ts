import { randomBytes } from 'node:crypto'
import { NO_TOTALS, type LayerTotals } from './layer-totals.ts'

export type LayerState = {
  /** A random value from the first write of the layer. It makes revisions of a new database differ from those of an old one. */
  readonly epoch: string
  readonly revision: number
  /** The number of definitions. */
  readonly size: number
  /**
   * The revision of the newest deletion that the store no longer remembers, or 0. A reader whose revision is older may have
   * missed deletions, and has to read the whole layer.
   */
  readonly floor: number
  /** Undefined if the content of the layer was never counted. Then nothing is removed to make room. */
  readonly totals?: LayerTotals | undefined
}

/** The state of a layer that was never written. */
export function newLayerState(): LayerState {
  return { epoch: newEpoch(), revision: 0, size: 0, floor: 0, totals: NO_TOTALS }
}

export function newEpoch(): string {
  return randomBytes(6).toString('hex')
}

/** The revision of the newest deletion that the store no longer remembers. Undefined if it remembers all deletions. */
export function forgottenRevision({ floor, epoch }: LayerState): string | undefined {
  return floor > 0 ? revisionText(floor, epoch) : undefined
}

/** A revision as a text: the number and the epoch of the layer, for example `7-9f2c1a7b3d5e`. */
export function revisionText(revision: number, epoch: string): string {
  return `${revision}-${epoch}`
}

/**
 * The number in `text`, which is the revision that a reader has. Undefined if the reader has to read the whole layer, in one of
 * three cases: the revision has another epoch, or it is newer than the layer (a database was restored from a copy), or it is
 * below `floor`.
 */
export function revisionNumber(text: string, { epoch, revision, floor }: LayerState): number | undefined {
  const [, digits, readEpoch] = /^(\d+)-([0-9a-f]+)$/.exec(text) ?? []
  const number = Number(digits)
  return readEpoch === epoch && number <= revision && number >= floor ? number : undefined
}
