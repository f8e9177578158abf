import { isSessionId, SESSION_ID_RULE } from './session.ts'
import { invalidParameter, type Query } from '../../http/query.ts'

/**
 * The id of the session that a query names. Undefined if it names none. Throws PARAMETER_INVALID for a text that cannot be the id
 * of a session.
 */
export function sessionIn(query: Query): string | undefined {
  const id = query.one('session')
  if (id !== undefined && !isSessionId(id)) throw invalidParameter('session', `is no id: ${SESSION_ID_RULE}`)
  return id
}

/** Returns the id of a session in a path. Throws PARAMETER_INVALID for a text that cannot be the id of a session. */
export function checkedSession(id: string): string {
  if (!isSessionId(id)) throw invalidParameter('id', `is no id: ${SESSION_ID_RULE}`)
  return id
}
