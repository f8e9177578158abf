import { printedFilter } from '../../redaction/known-secrets.ts'
import { marksOf } from '../../redaction/sensitive.ts'
import type { Resolved } from '../../calls/call.ts'
import { isSealed, type SealedPlace, type Sealing } from '../../calls/sealing.ts'
import type { StoredOutcome } from './stored-outcome.ts'

/** The call to which a kept result belongs: its user, the id of its key, and the hash of the call. */
export type ResultPlace = { readonly uid: string; readonly id: string; readonly hash: string }

/** The outcome as the store keeps it. Without `sealing`, a result in which a secret is recognized is not kept. */
export function outcomeToKeep(
  stored: StoredOutcome,
  { request, entry }: Pick<Resolved, 'request' | 'entry'>,
  place: ResultPlace,
  sealing: Sealing | undefined,
): StoredOutcome {
  if (sealing) return { ...stored, text: sealing.seal(stored.text, placeOf(stored, place)) }
  const { text } = stored
  const filter = printedFilter(request.arguments, marksOf(entry.stored), request.context, text.length)
  return filter(text) === text ? stored : unknown(NOT_KEPT)
}

/**
 * The outcome that the store has kept. With `sealing`, a text that is not sealed is refused, because somebody else may have
 * written it into the store.
 */
export function outcomeIn(
  kept: StoredOutcome,
  place: ResultPlace,
  sealing: Sealing | undefined,
): StoredOutcome {
  if (!sealing) return isSealed(kept.text) ? unknown(UNREADABLE) : kept
  const text = sealing.open(kept.text, placeOf(kept, place))
  return text === undefined ? unknown(UNREADABLE) : { ...kept, text }
}

function placeOf(stored: StoredOutcome, { uid, id, hash }: ResultPlace): SealedPlace {
  const code = stored.kind === 'failure' ? stored.code : ''
  return { kind: 'result', uid, id: [id, hash, stored.kind, code].join(' ') }
}

function unknown(text: string): StoredOutcome {
  return { kind: 'failure', code: 'UNKNOWN_OUTCOME', text }
}

const NOT_KEPT =
  'The call with this Idempotency-Key has ended. Its result holds what looks like a secret, and the service has no key to seal what it keeps, so the result was not kept. Nothing was run again. Only the first answer had it; for other calls, the operator can set TOOLRACK_SEALING_KEY.'

const UNREADABLE =
  'The call with this Idempotency-Key has ended, but its result cannot be read: the service has another sealing key than when it kept the result, or the result was changed in its store. Nothing was run again.'
