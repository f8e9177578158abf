import { z } from 'zod'
import type { BulkAnswer } from '../../catalog/definitions/write-answer.ts'
import { ON_CONFLICT } from '../../catalog/definitions/definition-change.ts'
import {
  byName,
  count,
  definition,
  digest,
  errorCode,
  json,
  jsonObject,
  layer,
  none,
  normalisation,
  page,
  precondition,
  revision,
  shadow,
  time,
  toolName,
  unenforced,
  unlessSame,
  writtenLayer,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

/** A definition is kept as it was sent, so one from an earlier version of the service may have other fields. */
const item = z.strictObject({
  name: toolName,
  layer,
  digest,
  revision,
  updatedAt: time.exactOptional(),
  updatedBy: z.string().exactOptional(),
  source: z.string().exactOptional(),
  definition,
})
const written = z.strictObject({
  name: toolName,
  layer: writtenLayer,
  outcome: z.enum(['created', 'updated', 'unchanged']),
  digest,
  revision,
  normalised: z.array(normalisation).describe('What was converted. With null as `to`, it was removed.'),
  unenforced: z
    .array(unenforced)
    .describe('Patterns that RE2 cannot run. They stay in the schema for the model, and are not checked.'),
  shadows: z
    .array(shadow)
    .describe('The definitions of lower layers that this one now replaces in the list.'),
})
const inBulk = written.extend({ outcome: z.enum(['created', 'updated', 'unchanged', 'skipped']) })
const toWrite = z.strictObject({
  layer: writtenLayer.optional().describe('The layer. Default: `user`.'),
})
const ofAnyLayer = z.strictObject({ layer: layer.optional().describe('The layer. Default: `user`.') })
const byTool = byName('The canonical name of the tool.')

export const LIST_DEFINITIONS: RouteSchemas = {
  summary: 'Lists the definitions of one layer as they were written, by name.',
  params: none,
  query: ofAnyLayer.extend(page(1_000)),
  answers: { 200: z.strictObject({ layer, revision: z.string(), items: z.array(item) }) },
}
export const WRITE_DEFINITIONS: RouteSchemas = {
  summary: 'Writes up to 200 definitions, all of them or none.',
  params: none,
  query: toWrite.extend({
    onConflict: z
      .enum(ON_CONFLICT)
      .optional()
      .describe('What to do with a name that the layer has already. Default: `upsert`, which replaces it.'),
    onInvalid: z
      .enum(['fail', 'skip'])
      .optional()
      .describe(
        '`fail`: one fault refuses the whole request. `skip`: the other definitions are written. Default: `fail`.',
      ),
  }),
  body: z
    .union([z.array(json), jsonObject])
    .describe(
      'One definition, a list of them, or a definitions file, `{"family":"…","tools":[…]}`: 1 to 200, at most 1 MB.',
    ),
  answers: {
    200: z.strictObject({
      results: z.array(inBulk),
      refused: z
        .array(
          z.strictObject({
            index: count,
            reason: errorCode,
            pointer: z.string(),
            message: z.string(),
            layer: layer.exactOptional(),
          }),
        )
        .exactOptional()
        .describe('With `onInvalid=skip`: what was not written.'),
    }) satisfies z.ZodType<BulkAnswer>,
  },
}
export const READ_DEFINITION: RouteSchemas = {
  summary: 'Reads one definition of a layer as it was written.',
  params: byTool,
  query: ofAnyLayer,
  headers: unlessSame,
  answers: { 200: item },
}
/** The body may have any shape that the service can convert. */
export const WRITE_DEFINITION: RouteSchemas = {
  summary: 'Creates or replaces one definition.',
  params: byTool,
  query: toWrite,
  headers: precondition,
  body: jsonObject.describe('The definition, at most 256 KB.'),
  answers: {
    200: written.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: written.extend({ outcome: z.literal('created') }),
  },
}
export const DELETE_DEFINITION: RouteSchemas = {
  summary: 'Deletes one definition. Its versions stay.',
  params: byTool,
  query: toWrite,
  headers: precondition,
  answers: {
    200: z.strictObject({
      name: toolName,
      layer: writtenLayer,
      outcome: z.literal('deleted'),
      digest,
      revision,
    }),
  },
}
export const LIST_VERSIONS: RouteSchemas = {
  summary: 'Lists the last 50 versions of a definition, the newest first.',
  params: byTool,
  query: toWrite,
  answers: {
    200: z.strictObject({
      name: z.string(),
      layer: writtenLayer,
      items: z.array(
        z.strictObject({
          revision,
          at: time,
          by: z.string(),
          deleted: z.boolean().describe('With `true`, the version is a deletion and has no content.'),
          digest: digest.exactOptional(),
          definition: definition.exactOptional(),
        }),
      ),
    }),
  },
}
export const ROLL_BACK: RouteSchemas = {
  summary: 'Writes the content of an older version again, as a new version.',
  params: byTool,
  query: toWrite,
  headers: precondition,
  body: z
    .union([
      z.strictObject({ digest: z.string().describe('The `digest` of the version.') }),
      z.strictObject({ revision: z.string().describe('The `revision` of the version.') }),
    ])
    .describe('Which version, by one of the two fields.'),
  answers: { 200: written },
}
