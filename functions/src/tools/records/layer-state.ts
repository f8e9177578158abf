import { randomBytes } from 'node:crypto'
import { NO_TOTALS, type LayerTotals } from './layer-totals.ts'

/** The state of a layer. */
export type LayerState = {
  /** Drawn when the layer is first written: a new database never repeats the revisions of an old one. */
  readonly epoch: string
  readonly revision: number
  /** How many definitions it holds. */
  readonly size: number
  /** A reader who has not read since this revision has missed deletions that are forgotten, and reads the whole layer. */
  readonly floor: number
  /** Undefined if the layer was never counted. Then nothing is removed for room. */
  readonly totals?: LayerTotals | undefined
}

/** A layer that was never written. */
export function newLayerState(): LayerState {
  return { epoch: newEpoch(), revision: 0, size: 0, floor: 0, totals: NO_TOTALS }
}

export function newEpoch(): string {
  return randomBytes(6).toString('hex')
}

/** `7-9f2c1a7b3d5e`: the layer's revision and the epoch it counts in. */
export function revisionText(revision: number, epoch: string): string {
  return `${revision}-${epoch}`
}

/**
 * The number of a revision that a reader has, if reading the changes since then is enough. Undefined if the reader has to read
 * the whole layer: the revision has another epoch, is newer than the layer (a database was restored from a copy), or is below the floor.
 */
export function revisionNumber(text: string, { epoch, revision, floor }: LayerState): number | undefined {
  const [, digits, readEpoch] = /^(\d+)-([0-9a-f]+)$/.exec(text) ?? []
  const number = Number(digits)
  return readEpoch === epoch && number <= revision && number >= floor ? number : undefined
}
