import { z } from 'zod'
import { digest, errorAnswer, none, nothing, revision, several, toolName } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import type { ToolChanges } from './tool-changes.ts'

const changed = z.array(z.strictObject({ name: toolName, digest }))
const changes = z.strictObject({
  revision,
  added: changed,
  changed,
  removed: z.array(toolName),
}) satisfies z.ZodType<ToolChanges>

const asInList = several.optional().describe('As in the list.')

export const CHANGES: RouteSchemas = {
  summary: 'Answers what has changed in your list since a revision, or waits until something changes.',
  params: none,
  query: z.strictObject({
    since: z
      .string()
      .optional()
      .describe(
        'The `X-Tools-Revision` of a list, or the `revision` of a change. Without it, the present revision is answered at once.',
      ),
    names: asInList,
    name: asInList,
    only: asInList,
    tags: asInList,
    category: asInList,
    with: asInList,
    scope: asInList,
    session: z.string().optional().describe('As in the list.'),
  }),
  headers: {
    Accept: '`text/event-stream`: a stream with an event for each change. Default: one change as JSON.',
    'Last-Event-ID': 'The `id` of the last event that was read. It is used in place of `since`.',
  },
  answerHeaders: { 'X-Tools-Revision': 'The revision from which to go on.' },
  answers: { 200: changes, 204: nothing },
  events: {
    changes: changes.describe('Something has changed. The `id` of the event is the revision.'),
    reset: z
      .strictObject({ revision })
      .describe('The changes since the revision cannot be made: list again, and go on from this one.'),
    gone: errorAnswer.describe('The last event: the session has ended, or a stored scope was deleted.'),
  },
}
