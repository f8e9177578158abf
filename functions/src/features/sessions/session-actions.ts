import { notByJobTokens } from '../../access/action.ts'

/** The action of reading the user's sessions. To list and call tools through a session, `READ` and `CALL` are enough. */
export const READ_SESSIONS = notByJobTokens(
  'read-sessions',
  'A job token may list and call through a session, but not read it: it may have tools that the token does not name.',
)
export const WRITE_SESSIONS = notByJobTokens(
  'write-sessions',
  'A job token may list and call through a session, but not make or change one.',
)
