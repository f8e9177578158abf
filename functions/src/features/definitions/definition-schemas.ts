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
  revision,
  shadow,
  time,
  toolName,
  unenforced,
  writtenLayer,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

/** What was written stays as it was sent, so a definition of an earlier version may have other fields. */
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
  normalised: z.array(normalisation),
  unenforced: z.array(unenforced),
  shadows: z.array(shadow),
})
const inBulk = written.extend({ outcome: z.enum(['created', 'updated', 'unchanged', 'skipped']) })
const toWrite = z.strictObject({ layer: writtenLayer.optional() })

export const LIST_DEFINITIONS: RouteSchemas = {
  params: none,
  query: z.strictObject({ layer: layer.optional(), ...page }),
  answers: { 200: z.strictObject({ layer, revision: z.string(), items: z.array(item) }) },
}
export const WRITE_DEFINITIONS: RouteSchemas = {
  params: none,
  query: toWrite.extend({
    onConflict: z.enum(ON_CONFLICT).optional(),
    onInvalid: z.enum(['fail', 'skip']).optional(),
  }),
  body: z.union([z.array(json), jsonObject]),
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
        .exactOptional(),
    }) satisfies z.ZodType<BulkAnswer>,
  },
}
export const READ_DEFINITION: RouteSchemas = {
  params: byName,
  query: z.strictObject({ layer: layer.optional() }),
  answers: { 200: item },
}
/** A definition of any shape that the service can convert. */
export const WRITE_DEFINITION: RouteSchemas = {
  params: byName,
  query: toWrite,
  body: jsonObject,
  answers: {
    200: written.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: written.extend({ outcome: z.literal('created') }),
  },
}
export const DELETE_DEFINITION: RouteSchemas = {
  params: byName,
  query: toWrite,
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
  params: byName,
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
          deleted: z.boolean(),
          digest: digest.exactOptional(),
          definition: definition.exactOptional(),
        }),
      ),
    }),
  },
}
export const ROLL_BACK: RouteSchemas = {
  params: byName,
  query: toWrite,
  body: z.union([z.strictObject({ digest: z.string() }), z.strictObject({ revision: z.string() })]),
  answers: { 200: written },
}
