import { ToolrackError } from '@toolrack/contract'
import type { Log } from '../../log.ts'
import { Turns } from '../../loop-turn.ts'
import { asPart } from '../../running-work.ts'
import type { AuditStore, RecordPlaces } from './audit-store.ts'
import { dayOf, dayOfManifest, manifestText, type AuditKey } from './manifest.ts'
import { firstPrev, sealed, type AuditEvent, type ChainHead, type SealedRecord } from './record.ts'
import { checkNewest, dayIn, type DayFault } from './check-newest.ts'
import { headsOf } from './heads-of.ts'
import { endedAmong, lostEvent, noteOf, type RunningCalls } from './running-calls.ts'
import { redactedEvent } from './redacted-event.ts'
import { removalTexts, retentionOf } from './removal-texts.ts'
import { rangesOf } from './number-ranges.ts'
import { TrailVerifier, type TrailReport } from './verify-trail.ts'

export const AUDIT_MODES = ['on', 'required', 'off'] as const
export type AuditMode = (typeof AUDIT_MODES)[number]

type Options = {
  readonly store: AuditStore
  readonly mode: Exclude<AuditMode, 'off'>
  readonly log: Pick<Log, 'error' | 'info'>
  /** Signs the manifests of days. Without a key, there are no manifests. */
  readonly key?: AuditKey | undefined
  /** The whole days for which records are kept. */
  readonly days?: number
  /**
   * Notes which calls and writes run. Only the embedded server has it: on other hosts, the notes would be lost with the instance.
   */
  readonly running?: RunningCalls | undefined
  /** Gets the text of each record that the store has taken. It must not throw. */
  readonly copy?: ((lines: readonly string[]) => void) | undefined
  readonly now?: () => number
}

/** For how many days records are kept by default. It is enough for a question about the last quarter. */
export const DAYS_KEPT = 90
/** The most events that wait for the store. A further event is lost, unless it must be recorded. Then its request is refused. */
const QUEUE_EVENTS_MAX = 1_000
/** The most records of one commit. Firestore takes 500 writes and 10 MB in one commit. */
const COMMIT_RECORDS_MAX = 100
/**
 * How long after the end of a day other instances may still write records of that day, in milliseconds. It is ten minutes, plus
 * an hour by which the clocks of two instances may differ. A day is signed only after this time, because a record after the
 * signature would look like a change of the trail.
 */
const DAY_GRACE_MS = 70 * 60 * 1_000
const DAY_MS = 24 * 60 * 60 * 1_000
/** How many records are read from the store at once, so that a verification needs little memory. */
const TEXTS_AT_ONCE = 300
/** The most records that one record of kind erasure names. A document of Firestore has at most 1 MiB. */
const ERASED_AT_ONCE = 50_000

type Waiting = {
  readonly event: AuditEvent
  readonly atMs: number
  readonly resolve: (isWritten: boolean) => void
}

/**
 * The audit trail of this instance. It makes a record of each event, one after the other. Each record has the hash of the one
 * before it.
 */
export class AuditTrail {
  readonly #options: Required<Pick<Options, 'store' | 'mode' | 'log' | 'days' | 'now'>> & Options
  readonly #waiting: Waiting[] = []
  /** The last record that was written. Undefined if it must be read from the store, null if there is none. */
  #head: ChainHead | null | undefined
  /** The last record that was ever known to be written. It stays if the store fails. */
  #lastKnown: ChainHead | null | undefined
  /** The last day with a manifest. No record is added to a day with a manifest. */
  #sealedDay = ''
  #writing: Promise<void> | undefined
  /** The running maintenance. Each maintenance begins when the one before it has ended. Never rejects. */
  #maintaining = Promise.resolve()
  /** The work that follows the start of the service, and runs beside the calls. Never rejects. */
  #beside = Promise.resolve()
  readonly #closing = new AbortController()
  /** The events of calls that began in this turn of the event loop, by id. */
  readonly #soon = new Map<string, () => AuditEvent>()
  #fault: DayFault | null = null
  #lost = 0
  #lostSinceRecord = 0
  #isFailing = false

  constructor(options: Options) {
    this.#options = { days: DAYS_KEPT, now: Date.now, ...options }
  }

  get isRequired(): boolean {
    return this.#options.mode === 'required'
  }

  /**
   * For the operator: the mode, whether ended days are signed, how many records were lost since the start, and how many events
   * wait.
   */
  get state() {
    const { mode, key } = this.#options
    return { mode, signed: key !== undefined, lost: this.#lost, waiting: this.#waiting.length }
  }

  /** For admins: the first fault that the last verification of a day found. Null if it found none. */
  get fault(): DayFault | null {
    return this.#fault
  }

  /**
   * Records an event. Never rejects: an event that cannot be recorded is counted. Waits for the store if the trail is required, or
   * if the store takes almost no time.
   */
  async record(event: () => AuditEvent): Promise<void> {
    const written = this.#add(event)
    if (this.isRequired || this.#options.store.isImmediate) await written
  }

  /** Records an event before its change is made. Rejects with AUDIT_UNAVAILABLE if the store has not taken the record. */
  async require(event: () => AuditEvent): Promise<void> {
    if (!(await this.#add(event))) throw new ToolrackError('AUDIT_UNAVAILABLE')
  }

  /**
   * Announces a call or a write that is about to run. If the trail is required, writes a record and returns a promise, which
   * rejects with AUDIT_UNAVAILABLE if the store has not taken the record. On hosts that keep notes, the event is also noted for
   * the next start.
   */
  begin(event: () => AuditEvent): Promise<void> | undefined {
    if (!this.isRequired) return this.#note(event)
    let known: AuditEvent | undefined
    const once = (): AuditEvent => (known ??= event())
    return this.require(once).then(() => this.#note(once))
  }

  /** Records the calls and writes that were interrupted when an earlier process was killed. Never rejects. */
  recordLost(): Promise<void> {
    const { log } = this.#options
    this.#beside = asPart('the audit trail', () => this.#recordLost()).catch((error: unknown) => {
      if (!this.#closing.signal.aborted)
        log.error('calls that an earlier process has left could not be recorded', {
          reason: (error as Error).message,
        })
    })
    return this.#beside
  }

  async #recordLost(): Promise<void> {
    const { store, running } = this.#options
    // Each later note names the last record before it.
    this.#lastKnown ??= (await store.head()) ?? null
    const left = running?.left ?? []
    if (left.length === 0) return
    const ended = await endedAmong(store, left, new Turns(this.#closing.signal))
    for (const note of left) {
      const lost = ended.has(note.id) ? undefined : lostEvent(note)
      if (lost) await this.record(() => lost)
      else running?.end(note.id)
    }
  }

  /** Notes a call that is about to run, for the next start, unless the call has ended before the next turn of the event loop. */
  noteSoon(id: string, event: () => AuditEvent): void {
    if (!this.#options.running) return
    if (this.#soon.size === 0) setImmediate(() => this.#noteAll())
    this.#soon.set(id, event)
  }

  #noteAll(): void {
    for (const event of this.#soon.values()) this.#note(event)
    this.#soon.clear()
  }

  #note(event: () => AuditEvent): undefined {
    const { running, now } = this.#options
    if (!running) return
    try {
      const note = noteOf(event(), now(), this.#lastKnown)
      if (note) running.begin(note)
    } catch {
      // The record of the end fails in the same way, and is counted and logged as lost.
    }
  }

  /** Resolves when all events that were recorded before are written or lost. */
  async written(): Promise<void> {
    while (this.#writing) await this.#writing
  }

  /**
   * Removes the content of a user's records. Before that, writes records of kind erasure that name them. So the trail can be
   * verified even if the removal is interrupted.
   */
  async erase(by: AuditEvent['principal'], uid: string): Promise<{ readonly erased: number }> {
    await this.written()
    const { store } = this.#options
    let erased = 0
    for (const { instance, day, seqs } of await store.placesOf(uid)) {
      for (let from = 0; from < seqs.length; from += ERASED_AT_ONCE) {
        const places: RecordPlaces = { instance, day, seqs: seqs.slice(from, from + ERASED_AT_ONCE) }
        const subject = { erased: { [firstPrev(places)]: rangesOf(places.seqs) } }
        await this.require(() => ({ kind: 'erasure', principal: by, outcome: 'ok', subject }))
        await store.erase(places)
        erased += places.seqs.length
      }
    }
    this.#options.running?.forgetEnded()
    return { erased }
  }

  /**
   * Verifies the newest records, but not more than a bound, in turns with requests. Never rejects. After it, `fault` has the
   * first fault.
   */
  checkNewest(): Promise<void> {
    const { store, key, log } = this.#options
    const { signal } = this.#closing
    const check = () => checkNewest(store, { publicKey: key?.publicKey, turns: new Turns(signal) })
    this.#beside = this.#beside
      .then(() => asPart('the check of the audit trail', check))
      .then((fault) => this.#noteFault(fault))
      .catch((error: unknown) => {
        if (!signal.aborted)
          log.error('the audit trail could not be verified', { reason: (error as Error).message })
      })
    return this.#beside
  }

  /** Verifies the records of one day, or all records and manifests, in turns with requests. */
  async verify(day?: string, turns: Turns = new Turns()): Promise<TrailReport> {
    const report = await this.#verify(day, turns)
    const { fault } = report
    if (fault) this.#noteFault({ day: day ?? dayIn(fault), place: fault.place, reason: fault.reason })
    else if (day === undefined || this.#fault?.day === day) this.#noteFault(null)
    return report
  }

  #noteFault(fault: DayFault | null): void {
    const { log } = this.#options
    const isNew = fault && (fault.day !== this.#fault?.day || fault.place !== this.#fault.place)
    if (isNew)
      log.error(
        'the audit trail does not verify: its files were changed or damaged; GET /audit/verify says more',
        fault,
      )
    if (!fault && this.#fault) log.info('the audit trail verifies again')
    this.#fault = fault
  }

  async #verify(day: string | undefined, turns: Turns): Promise<TrailReport> {
    await this.maintain()
    const { store, key } = this.#options
    const { heads, fault } = await headsOf(store, day)
    if (fault) return { ...new TrailVerifier().end(), fault }
    const verifier = new TrailVerifier({ isPart: day !== undefined, day, publicKey: key?.publicKey, heads })
    if (day !== undefined)
      for await (const text of removalTexts(store, heads.length === 0)) {
        verifier.noteRemoval(text)
        if (turns.isDue) await turns.give()
      }
    for await (const text of this.lines(day, day)) {
      verifier.take(text)
      if (verifier.hasFault) break
      if (turns.isDue) await turns.give()
    }
    return verifier.end()
  }

  /** The lines of an export: the records of the days from `since` to `until`, chain by chain, then all manifests. */
  async *lines(since = '', until = '9'): AsyncGenerator<string> {
    await this.written()
    const { store } = this.#options
    for (const day of await store.days()) {
      if (day < since || day > until) continue
      for (const { instance, seq: last } of await store.chains(day))
        for (let seq = 0; seq < last; seq += TEXTS_AT_ONCE) {
          const texts = await store.texts({ instance, day }, seq, TEXTS_AT_ONCE)
          // A changed head can name far more records than there are. A verification finds this.
          if (texts.length === 0) break
          yield* texts
        }
    }
    yield* await store.manifests()
  }

  page(query: Parameters<AuditStore['page']>[0]): ReturnType<AuditStore['page']> {
    return this.#options.store.page(query)
  }

  /** Signs the manifests of the days that have ended, and removes the days that are too old. */
  async maintain(): Promise<void> {
    await this.written()
    const done = this.#maintaining.then(() => this.#maintain())
    this.#maintaining = done.catch(() => undefined)
    await done
    await this.written()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#beside
    await this.written()
    await this.#maintaining
    await this.written()
    this.#options.running?.close()
    await this.#options.store.close()
  }

  #add(event: () => AuditEvent): Promise<boolean> {
    if (this.#waiting.length >= QUEUE_EVENTS_MAX) {
      this.#lose(1, new Error('too many records wait for the store'))
      return Promise.resolve(false)
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    try {
      this.#waiting.push({ event: redactedEvent(event()), atMs: this.#options.now(), resolve })
    } catch (error) {
      this.#lose(1, error)
      return Promise.resolve(false)
    }
    // A store that writes at once does so for this event. Its time belongs to the request of the event.
    this.#writing ??= this.#options.store.isImmediate
      ? this.#write()
      : asPart('the audit trail', () => this.#write())
    return promise
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, COMMIT_RECORDS_MAX)
      const isWritten = await this.#append(batch)
      for (const { event, resolve } of batch) {
        // The end is noted even if the record is lost, because the service has seen the end. The next record says that a record
        // was lost.
        if (event.phase !== 'start' && event.invocationId) this.#noteEnd(event.invocationId)
        resolve(isWritten)
      }
    }
    // `#writing` must be reset in the same turn of the event loop as the last check of the queue. Otherwise nothing would write
    // an event that was added in between.
    this.#writing = undefined
  }

  async #append(batch: readonly Waiting[]): Promise<boolean> {
    const { store, copy, log } = this.#options
    try {
      if (this.#head === undefined) await this.#readHead()
      const before = this.#head
      const told = this.#lostSinceRecord
      const records = this.#sealedAfter(before ?? null, batch)
      await store.append(records)
      const last = records.at(-1)
      if (last) this.#lastKnown = this.#head = last
      // Events can be lost during the commit, so the count is lowered and not reset. The next record says how many were lost.
      this.#lostSinceRecord -= told
      if (this.#isFailing) log.info('audit records can be kept again')
      this.#isFailing = false
      copy?.(records.map(({ text }) => text))
      if (before?.day !== last?.day) this.#startMaintenance()
      return true
    } catch (error) {
      // The commit may have been done although `append` has rejected. So the next record asks the store for the last one.
      this.#head = undefined
      this.#lose(batch.length, error)
      return false
    }
  }

  #noteEnd(id: string): void {
    this.#soon.delete(id)
    this.#options.running?.end(id)
  }

  async #readHead(): Promise<void> {
    const { store } = this.#options
    const [manifest] = (await store.manifests()).slice(-1)
    if (manifest !== undefined) this.#sealedDay = dayOfManifest(manifest)
    this.#lastKnown = this.#head = (await store.head()) ?? null
  }

  #sealedAfter(head: ChainHead | null, batch: readonly Waiting[]): readonly SealedRecord[] {
    const { instance } = this.#options.store
    let last = head
    let lostBefore = this.#lostSinceRecord
    return batch.map(({ event, atMs }) => {
      const at = new Date(atMs).toISOString()
      const day = this.#openDay(at.slice(0, 10), last?.day ?? '')
      const isSame = last !== null && last.day === day
      const seq = isSame && last ? last.seq + 1 : 1
      const prev = isSame && last ? last.hash : firstPrev({ instance, day })
      const record = sealed(event, { instance, day, seq, prev, at }, lostBefore)
      lostBefore = 0
      last = record
      return record
    })
  }

  /**
   * The day under which a new record is kept. If the clock was set back, the record goes into the newest chain. A day with a
   * manifest gets no record.
   */
  #openDay(day: string, newest: string): string {
    const open = day < newest ? newest : day
    return open <= this.#sealedDay ? dayOf(Date.parse(this.#sealedDay) + DAY_MS) : open
  }

  #lose(count: number, error: unknown): void {
    this.#lost += count
    this.#lostSinceRecord += count
    if (this.#isFailing) return
    this.#isFailing = true
    const { message, cause } = error as Error
    this.#options.log.error('audit records could not be kept; calls go on unless TOOLRACK_AUDIT=required', {
      reason: cause instanceof Error ? cause.message : message,
    })
  }

  #startMaintenance(): void {
    const { log } = this.#options
    this.#maintaining = this.#maintaining
      .then(() => asPart('the retention of the audit trail', () => this.#maintain()))
      .catch((error: unknown) =>
        log.error('audit records of past days could not be signed or removed', {
          reason: (error as Error).message,
        }),
      )
  }

  async #maintain(): Promise<void> {
    const { store, key, now, days } = this.#options
    if (key) await this.#signDays(key, dayOf(now() - DAY_GRACE_MS))
    const before = dayOf(now() - days * DAY_MS)
    const tooOld = await store.days(before)
    // The record comes first. So even if the removal is interrupted, a record names each day that is missing.
    if (tooOld.length > 0) await this.require(() => retentionOf(before, tooOld))
    await store.removeBefore(before)
  }

  /** Signs each day before `until` that has records and no manifest. */
  async #signDays(key: AuditKey, until: string): Promise<void> {
    const { store } = this.#options
    let [last] = (await store.manifests()).slice(-1)
    let signed = last === undefined ? '' : dayOfManifest(last)
    for (const day of await store.days()) {
      if (day <= signed || day >= until) continue
      this.#sealedDay = day
      await store.keepManifest(day, manifestText(day, await store.chains(day), last, key))
      last = (await store.manifests()).at(-1)
      signed = day
    }
  }
}
