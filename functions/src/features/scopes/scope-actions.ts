import { notByJobTokens } from '../../access/action.ts'

/** The action of reading the user's stored scopes. To get a list with a stored scope, `READ` is enough. */
export const READ_SCOPES = notByJobTokens(
  'read-scopes',
  'A job token may list by a stored scope (scope=ref:KIND/ID), but not read the scope.',
)
export const WRITE_SCOPES = notByJobTokens('write-scopes', 'A job token never writes scopes.')
