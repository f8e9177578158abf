import { canonicalJson, isJsonObject, parsedJson } from '@toolrack/contract'
import type { Grant, JsonObject, JsonValue } from '@toolrack/contract'
import { hash } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'

/**
 * The kinds of records:
 *
 * - `call`: a call of a tool,
 * - `approval`: a decision about an approval,
 * - `write`: any other request that changes something, such as a definition, a module, a rule or a session,
 * - `simulation`: a simulation of a call,
 * - `refresh`: a refresh of the folder of modules,
 * - `erasure`: an erasure of a user's records,
 * - `retention`: the removal of days that are too old.
 */
export const AUDIT_KINDS = [
  'call',
  'approval',
  'write',
  'simulation',
  'refresh',
  'erasure',
  'retention',
] as const
export type AuditKind = (typeof AUDIT_KINDS)[number]

/**
 * `start`: the call or write is about to run. Only TOOLRACK_AUDIT=required writes this record. `end`: the call or write has
 * ended. A `start` without an `end` of the same `invocationId` was interrupted, or its end could not be recorded.
 */
export type AuditPhase = 'start' | 'end'

/** The sender of an event. `token` says which of its two tokens the embedded server has received. */
type Sender = Pick<Principal, 'uid' | 'token'> & { readonly kind: Principal['kind'] | 'service' }

/** The facts about an event that a caller of the trail knows. Absent fields become null in the record. */
export type AuditEvent = {
  readonly kind: AuditKind
  readonly phase?: AuditPhase
  readonly principal: Sender
  /** `ok`, `pending`, `started`, or an error code. */
  readonly outcome: string
  readonly agent?: string | null
  readonly session?: string | null
  readonly workflow?: string | null
  readonly tool?: string | null
  readonly layer?: string | null
  readonly digest?: string | null
  readonly revision?: string | null
  readonly rule?: JsonValue
  readonly decision?: string | null
  /** The id of the approval that a call used or waits for, or that was decided. */
  readonly approval?: string | null
  /** The arguments as `recordedArguments` has redacted and bounded them. */
  readonly arguments?: JsonValue
  readonly argumentsHash?: string | null
  readonly isDryRun?: boolean
  /** True if the caller has run the tool and reports how it ended. */
  readonly isReported?: boolean
  readonly replayed?: boolean
  /** True if the service was killed during the call or the write. Nothing is known of its end. */
  readonly isLost?: boolean
  readonly durationMs?: number | null
  readonly usage?: JsonValue
  readonly isolation?: string | null
  readonly invocationId?: string | null
  readonly parentInvocationId?: string | null
  readonly traceparent?: string | null
  /** Facts about what a write has changed, or what an erasure or a retention has removed. */
  readonly subject?: JsonObject
  /** The grants that the tool had while it ran, sorted. In the record of a start: those that it is about to have. */
  readonly grants?: readonly Grant[] | undefined
}

/** A chain: the records of one instance of the service on one day (UTC). */
export type ChainName = { readonly instance: string; readonly day: string }

/** The last record of a chain. */
export type ChainHead = ChainName & { readonly seq: number; readonly hash: string }

/** A record as it is kept: `text` is one line of JSON. The other fields are for the queries of a store. */
export type SealedRecord = ChainHead & {
  readonly kind: AuditKind
  readonly at: string
  readonly uid: string
  readonly tool: string | null
  readonly outcome: string
  readonly text: string
}

const LAST_HASH = /,"hash":"([0-9a-f]{64})"\}$/

/** The `prev` of the first record of a chain. */
export function firstPrev({ instance, day }: ChainName): string {
  return `${instance}/${day}`
}

/**
 * Makes the record of an event, as the next record of a chain. Its text is the record's canonical JSON (RFC 8785) with the member
 * `hash` added at the end. The hash is the sha256 of `prev` and of the canonical JSON without `hash`, as 64 hex digits.
 */
export function sealed(
  event: AuditEvent,
  chain: ChainName & { readonly seq: number; readonly prev: string; readonly at: string },
  lostBefore: number,
): SealedRecord {
  const { kind, principal, phase = 'end', outcome, tool = null } = event
  const { instance, day, seq, prev, at } = chain
  const body = recordJson({
    ...event,
    instance,
    day,
    seq,
    prev,
    at,
    phase,
    principal: senderOf(principal),
    dryRun: event.isDryRun === true || undefined,
    reported: event.isReported === true || undefined,
    replayed: event.replayed === true || undefined,
    lost: event.isLost === true || undefined,
    lostBefore: lostBefore > 0 ? lostBefore : undefined,
  })
  const own = hashOf(prev, body)
  return {
    instance,
    day,
    seq,
    hash: own,
    kind,
    at,
    uid: principal.uid,
    tool,
    outcome,
    text: withHash(body, own),
  }
}

/** The sender, as it is written into a record. */
export function senderOf({ kind, uid, token }: Sender): { kind: string; uid: string; token?: string } {
  return token === undefined ? { kind, uid } : { kind, uid, token }
}

/** The members that every record has. A member that is not known is null. */
const ALWAYS = [
  'approval',
  'agent',
  'session',
  'workflow',
  'tool',
  'layer',
  'digest',
  'revision',
  'rule',
  'decision',
  'arguments',
  'argumentsHash',
  'durationMs',
  'usage',
  'isolation',
  'invocationId',
  'parentInvocationId',
  'traceparent',
  'instance',
  'day',
  'seq',
  'prev',
  'at',
  'kind',
  'phase',
  'outcome',
  'principal',
] as const

/** The members that only some records have. */
const SOMETIMES = ['subject', 'grants', 'dryRun', 'reported', 'replayed', 'lost', 'lostBefore'] as const

type Member = (typeof ALWAYS)[number] | (typeof SOMETIMES)[number]

/** The members with the text before each value, in the order of canonical JSON. */
const MEMBERS = [...ALWAYS, ...SOMETIMES]
  .toSorted()
  .map((name) => ({ name, start: `,"${name}":`, isAlways: ALWAYS.some((one) => one === name) }))

/** The canonical JSON of a record. The order of its members is known, so they are not sorted for each record. */
function recordJson(record: Readonly<Partial<Record<Member, JsonValue | undefined>>>): string {
  let text = ''
  for (const { name, start, isAlways } of MEMBERS) {
    const value = record[name]
    if (value !== undefined) text += start + canonicalJson(value)
    else if (isAlways) text += `${start}null`
  }
  return `{${text.slice(1)}}`
}

/** What is left of a record whose content was erased: its position in the chain, and its hash. */
export function erasedText({ instance, day, seq, ...head }: ChainHead, prev: string): string {
  return withHash(canonicalJson({ day, erased: true, instance, prev, seq }), head.hash)
}

export function hashOf(prev: string, body: string): string {
  return hash('sha256', prev + body)
}

/** Splits the text of a record into its canonical JSON and its hash. Undefined if the text does not end with a hash. */
export function partsOf(text: string): { readonly body: string; readonly hash: string } | undefined {
  const found = LAST_HASH.exec(text.slice(-HASH_MEMBER))?.[1]
  return found === undefined ? undefined : { body: `${text.slice(0, -HASH_MEMBER)}}`, hash: found }
}

/** The `prev` in the text of a record. Empty if the text is damaged. */
export function prevOf(text: string): string {
  const record = parsedJson(text)
  return isJsonObject(record) && typeof record['prev'] === 'string' ? record['prev'] : ''
}

/** The length of `,"hash":"…"}`. */
const HASH_MEMBER = 75

function withHash(body: string, own: string): string {
  return `${body.slice(0, -1)},"hash":"${own}"}`
}
