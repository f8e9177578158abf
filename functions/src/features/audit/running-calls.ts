import { isJsonObject, parsedJson, type JsonObject } from '@toolrack/contract'
import type { Turns } from '../../loop-turn.ts'
import type { AuditStore } from './audit-store.ts'
import { AUDIT_KINDS, senderOf, type AuditEvent, type ChainHead } from './record.ts'

/** The note of a call or a write that was about to run. `noteOf` makes the text, and `lostEvent` reads it. */
export type Note = { readonly id: string; readonly text: string }

/**
 * Notes the calls and writes that run, so that the next start can record those that a killed service has not ended. No call waits
 * for a note, and none of the functions throws.
 */
export type RunningCalls = {
  /** The notes of an earlier process about calls and writes that it has not ended. */
  readonly left: readonly Note[]
  readonly begin: (note: Note) => void
  readonly end: (id: string) => void
  /** Removes the notes of ended calls from the file, and overwrites their text on the disk. */
  readonly forgetEnded: () => void
  readonly close: () => void
}

/**
 * The last record that was written before a note. The record of the end can only be a later one. Null if there was no record,
 * undefined if this is not known.
 */
type Before = Pick<ChainHead, 'instance' | 'day' | 'seq'> | null | undefined

/** The note of an event that begins at `atMs`. Undefined for an event without an id. */
export function noteOf(event: AuditEvent, atMs: number, before: Before): Note | undefined {
  const { invocationId: id, principal } = event
  if (typeof id !== 'string') return undefined
  const at = new Date(atMs).toISOString()
  const after = before && { instance: before.instance, day: before.day, seq: before.seq }
  return { id, text: JSON.stringify({ at, after, event: { ...event, principal: senderOf(principal) } }) }
}

/** The event of a noted call or write whose end is not known. Undefined if the text is not that of a note. */
export function lostEvent({ id, text }: Note): AuditEvent | undefined {
  const note = parsedJson(text)
  const event = isJsonObject(note) ? note['event'] : undefined
  if (!isJsonObject(note) || !isEvent(event)) return undefined
  const subject = { ...(event['subject'] as JsonObject | undefined), startedAt: note['at'] ?? null }
  const known = event as unknown as AuditEvent
  return { ...known, invocationId: id, phase: 'end', outcome: 'UNKNOWN_OUTCOME', isLost: true, subject }
}

/** True if the event has the fields that a store of records needs. */
function isEvent(event: JsonObject[string] | undefined): event is JsonObject {
  if (!isJsonObject(event)) return false
  const { principal, kind, tool = null, subject = {} } = event
  const isSender = isJsonObject(principal) && typeof principal['uid'] === 'string'
  const isKnown = AUDIT_KINDS.some((one) => one === kind) && isJsonObject(subject)
  return isSender && isKnown && (tool === null || typeof tool === 'string')
}

/** How many records are read from the store at once, so that the search needs little memory. */
const TEXTS_AT_ONCE = 300

/** The ids of the notes whose end has a record in the store. Reads the records in turns with requests. */
export async function endedAmong(
  store: Pick<AuditStore, 'instance' | 'days' | 'texts'>,
  notes: readonly Note[],
  turns: Turns,
): Promise<ReadonlySet<string>> {
  const { instance } = store
  const ids = new Set(notes.map(({ id }) => id))
  const ended = new Set<string>()
  const days = (await store.days()).toSorted()
  const from = startOf(notes, instance, days.at(-1) ?? '')
  for (const day of days) {
    if (day < from.day) continue
    for (let seq = day === from.day ? from.seq : 0; ; seq += TEXTS_AT_ONCE) {
      const texts = await store.texts({ instance, day }, seq, TEXTS_AT_ONCE)
      for (const text of texts) {
        const record = parsedJson(text)
        const id = isJsonObject(record) && record['phase'] === 'end' ? record['invocationId'] : undefined
        if (typeof id === 'string' && ids.has(id)) ended.add(id)
        if (turns.isDue) await turns.give()
      }
      if (texts.length < TEXTS_AT_ONCE) break
    }
  }
  return ended
}

type Start = { readonly day: string; readonly seq: number }

/**
 * Where the search for the ends of all notes begins in the chains of this instance. If a note does not know the last record
 * before it, the search begins with the newest day.
 */
function startOf(notes: readonly Note[], instance: string, newest: string): Start {
  return notes
    .map(({ text }): Start => {
      const note = parsedJson(text)
      const after = isJsonObject(note) ? note['after'] : undefined
      if (after === undefined) return { day: newest, seq: 0 }
      const { day, seq } = isJsonObject(after) && after['instance'] === instance ? after : {}
      return typeof day === 'string' && typeof seq === 'number' ? { day, seq } : { day: '', seq: 0 }
    })
    .reduce((first, next) =>
      next.day < first.day || (next.day === first.day && next.seq < first.seq) ? next : first,
    )
}
