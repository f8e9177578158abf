import { ToolrackError } from '@toolrack/contract'
import { APPROVALS_BYTES_MAX, APPROVALS_MAX, isErased, keptBytes, stateAt } from './approval.ts'
import type { Approval } from './approval.ts'

/**
 * Makes room for a new approval. `kept` are the approvals that stay, and `dropped` the ids of the others. The oldest approvals
 * that have ended are dropped first. Throws SERVICE_BUSY if there is still no room.
 */
export function withRoomFor(known: readonly Approval[], { bytes, isEdited }: Approval, nowMs: number) {
  const dropped = new Set(known.filter((one) => isErased(one, nowMs)).map(({ id }) => id))
  let count = known.length - dropped.size + 1
  let sum = known.reduce((total, one) => total + (dropped.has(one.id) ? 0 : keptBytes(one, nowMs)), bytes)
  for (const one of known) {
    if (count <= APPROVALS_MAX && sum <= APPROVALS_BYTES_MAX) break
    if (dropped.has(one.id) || !hasEnded(one, nowMs)) continue
    dropped.add(one.id)
    count -= 1
    sum -= keptBytes(one, nowMs)
  }
  if (count > APPROVALS_MAX || sum > APPROVALS_BYTES_MAX)
    throw new ToolrackError('SERVICE_BUSY', isEdited ? TOO_LARGE : TOO_MANY)
  return { kept: known.filter(({ id }) => !dropped.has(id)), dropped: [...dropped] }
}

/** Makes room for the edited arguments of one of these approvals. Throws as `withRoomFor` does. */
export function withRoomForEdited(known: readonly Approval[], edited: Approval, nowMs: number) {
  const others = known.filter((one) => one !== edited)
  const { dropped } = withRoomFor(others, edited, nowMs)
  return { approvals: known.filter(({ id }) => !dropped.includes(id)), dropped }
}

const TOO_MANY =
  'Too many of your calls wait for an approval, so nothing was asked and nothing was run. Decide or cancel some of them.'

const TOO_LARGE =
  'The arguments of your approvals have too many bytes for the edited ones, so nothing was decided. Decide or cancel other approvals first, or decide without other arguments.'

function hasEnded(approval: Approval, nowMs: number): boolean {
  return ['used', 'denied', 'expired'].includes(stateAt(approval, nowMs))
}
