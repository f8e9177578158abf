import { notByJobTokens } from '../../access/action.ts'

/** Reads the stored scopes of the principal's user. To list by a stored scope, `READ` is enough. */
export const READ_SCOPES = notByJobTokens(
  'read-scopes',
  'A job token may list by a stored scope (scope=ref:KIND/ID), but not read the scope.',
)
export const WRITE_SCOPES = notByJobTokens('write-scopes', 'A job token never writes scopes.')
