import type { CatalogEntry } from './catalog-entry.ts'
import type { SessionSelection } from './session-selection.ts'

/** Why a tool cannot be called in a session. The message tells the model the reason, and what can be done. */
export type NotInSession = { readonly reason: 'NOT_SELECTED' | 'DIGEST_CHANGED'; readonly message: string }

/** Why a tool cannot be called through the session. Undefined if it can. */
export function whyNotInSession(
  session: SessionSelection,
  { name, digest }: Pick<CatalogEntry, 'name' | 'digest'>,
): NotInSession | undefined {
  if (!isSelected(session, name)) return { reason: 'NOT_SELECTED', message: notSelected(name, session) }
  const locked = session.digests?.get(name)
  if (locked === undefined || locked === digest) return undefined
  return { reason: 'DIGEST_CHANGED', message: `${name} ${CHANGED}` }
}

export function isSelected({ names }: Pick<SessionSelection, 'names'>, name: string): boolean {
  return names === 'all' || names.has(name)
}

const CHANGED =
  'has changed since this session was locked, and the session keeps its tools as they were; nothing was run. Fork the session to use the tool as it is now.'

function notSelected(name: string, { lockedAt }: SessionSelection): string {
  const how =
    lockedAt === null
      ? 'Choose the tool for the session, or call one that the session lists.'
      : 'The selection is locked: call a tool that the session lists, or fork the session to choose anew.'
  return `${name} is not in the selection of this session; nothing was run. ${how}`
}
