import { notByJobTokens } from '../../access/action.ts'

/** The action of changing the user's agents, and their links to sessions. */
export const WRITE_AGENTS = notByJobTokens(
  'write-agents',
  'A job token can read agents, but never writes them.',
)
