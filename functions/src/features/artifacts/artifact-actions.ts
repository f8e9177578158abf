import { READ, notByJobTokens } from '../../access/action.ts'

/** The action of reading artifacts. A job token reads only those that calls of its workflow have made. */
export const READ_ARTIFACTS = READ

/** The action of uploading and deleting artifacts, and of making links to them. */
export const WRITE_ARTIFACTS = notByJobTokens(
  'write-artifacts',
  'A job token reads the artifacts of its own calls. It uploads and deletes none, and makes no links.',
)
