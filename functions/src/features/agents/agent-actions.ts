import { notByJobTokens } from '../../access/action.ts'

/** Changes of the user's agents and of their links to sessions. */
export const WRITE_AGENTS = notByJobTokens(
  'write-agents',
  'A job token can read agents, but never writes them.',
)
