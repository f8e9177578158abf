import type { Turns } from '../../loop-turn.ts'
import type { AuditStore } from './audit-store.ts'
import { headsOf } from './heads-of.ts'
import { dayOfManifest } from './manifest.ts'
import { partsOf, type ChainHead } from './record.ts'
import { removalTexts } from './removal-texts.ts'
import { headText, TrailVerifier, type TrailFault } from './verify-trail.ts'

/** A day whose records do not verify, with the first fault. */
export type DayFault = Pick<TrailFault, 'place' | 'reason'> & { readonly day: string }

/** The day that a fault is about, as it stands in the fault's place. Empty if there is no day in it. */
export function dayIn({ place }: Pick<TrailFault, 'place'>): string {
  return /\d{4}-\d\d-\d\d/.exec(place)?.[0] ?? ''
}

/** The most records that are verified after a start. This takes about a second of processor time, in turns. */
const RECORDS_MAX = 100_000
/** The most days that are verified after a start, so that this takes little time. */
const DAYS_MAX = 7
/** How many records are read from the store at once. Requests get a turn between two reads. */
const TEXTS_AT_ONCE = 100

type Options = {
  readonly publicKey: string | undefined
  readonly turns: Turns
  readonly recordsMax?: number
}

/** Verifies the newest days of a trail, up to RECORDS_MAX records, in turns with requests. Null if nothing is wrong. */
export async function checkNewest(store: AuditStore, options: Options): Promise<DayFault | null> {
  const manifests = await store.manifests()
  const days = new Set([...(await store.days()), ...manifests.map(dayOfManifest)])
  let left = options.recordsMax ?? RECORDS_MAX
  for (const day of [...days].toSorted().toReversed().slice(0, DAYS_MAX)) {
    if (left <= 0) break
    const ofDay = { ...options, manifests: manifestsFor(day, manifests), recordsMax: left }
    let report = await checkDay(store, day, ofDay)
    // Records may have been erased or removed during the check. Then a new record names them, and the second check reads it.
    if (report.fault) report = await checkDay(store, day, ofDay)
    if (report.fault) return { day, place: report.fault.place, reason: report.fault.reason }
    left -= report.records
  }
  return null
}

/**
 * The texts that are needed to verify the manifest of a day: this manifest, the one before it, whose hash it contains, and all
 * damaged manifests.
 */
function manifestsFor(day: string, manifests: readonly string[]): readonly string[] {
  const days = manifests.map(dayOfManifest)
  // oxlint-disable-next-line toolrack/linear-texts -- It is a list of days.
  const before = days.includes(day) ? days.findLast((each) => each !== '' && each < day) : undefined
  // oxlint-disable-next-line toolrack/linear-texts -- It is a list of days.
  return manifests.filter((_text, at) => [day, before, ''].includes(days[at]))
}

type OfDay = Options & { readonly manifests: readonly string[]; readonly recordsMax: number }

async function checkDay(
  store: AuditStore,
  day: string,
  { manifests, recordsMax, publicKey, turns }: OfDay,
): Promise<{ readonly records: number; readonly fault: TrailFault | null }> {
  const chains = await store.chains(day)
  const total = chains.reduce((sum, { seq }) => sum + seq, 0)
  // The records of a very large day are not counted, because that would take too long.
  const { fault } = total > recordsMax ? { fault: null } : await headsOf(store, day)
  if (fault) return { records: 0, fault }
  const starts = await startsOf(store, chains, recordsMax)
  const after = starts.filter(({ seq }) => seq > 0)
  const verifier = new TrailVerifier({
    isPart: true,
    hasEarlier: true,
    day,
    publicKey,
    after,
    heads: chains.map(headText),
  })
  for await (const text of removalTexts(store, chains.length === 0)) verifier.noteRemoval(text)
  for (const [index, { instance, seq: last }] of chains.entries())
    for (let seq = starts[index]?.seq ?? 0; seq < last && !verifier.hasFault; seq += TEXTS_AT_ONCE) {
      const texts = await store.texts({ instance, day }, seq, Math.min(TEXTS_AT_ONCE, last - seq))
      for (const text of texts) verifier.take(text)
      if (turns.isDue) await turns.give()
    }
  for (const text of manifests) verifier.take(text)
  return verifier.end()
}

/**
 * For each chain, the record after which the verification begins, in the order of the chains. A `seq` of 0 stands for the
 * beginning of a chain.
 */
async function startsOf(
  store: Pick<AuditStore, 'texts'>,
  chains: readonly ChainHead[],
  recordsMax: number,
): Promise<readonly ChainHead[]> {
  const each = Math.ceil(recordsMax / Math.max(1, chains.length))
  return Promise.all(
    chains.map(async ({ instance, day, seq: last }) => {
      const seq = Math.max(0, last - each)
      const [text = ''] = seq === 0 ? [] : await store.texts({ instance, day }, seq - 1, 1)
      return { instance, day, seq, hash: partsOf(text)?.hash ?? '' }
    }),
  )
}
