import { notByJobTokens } from '../../access/action.ts'

/** Reads older versions of definitions. */
export const READ_VERSIONS = notByJobTokens(
  'read-versions',
  'A job token can read the present definitions of its tools, but not their older versions.',
)
