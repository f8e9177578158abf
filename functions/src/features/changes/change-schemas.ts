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

export const CHANGES: RouteSchemas = {
  params: none,
  query: z.strictObject({
    since: z.string().optional(),
    names: several.optional(),
    name: several.optional(),
    only: several.optional(),
    tags: several.optional(),
    category: several.optional(),
    with: several.optional(),
    scope: several.optional(),
    session: z.string().optional(),
  }),
  answers: { 200: changes, 204: nothing },
  events: { changes, reset: z.strictObject({ revision }), gone: errorAnswer },
}
