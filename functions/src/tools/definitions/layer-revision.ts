import { randomBytes } from 'node:crypto'

/** A layer's epoch is drawn when it is first written: a new database never repeats an old one's revisions. */
export function newEpoch(): string {
  return randomBytes(6).toString('hex')
}

/** `7-9f2c1a7b3d5e`: the layer's revision and the epoch it counts in. */
export function revisionText(revision: number, epoch: string): string {
  return `${revision}-${epoch}`
}
