import { z } from 'zod'
import type { FoundCall } from '../../calls/invocation-logs.ts'
import {
  byId,
  decision,
  digest,
  errorCode,
  none,
  page,
  revision,
  time,
  usage,
  uuid,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

const call = z.strictObject({
  invocationId: uuid,
  parentInvocationId: uuid.nullable(),
  tool: z.string().nullable(),
  digest: digest.nullable(),
  revision: revision.nullable(),
  at: time,
  durationMs: z.number(),
  outcome: z.enum(['success', 'failure']),
  code: errorCode.nullable(),
  isolation: z.string().nullable(),
  usage: usage.nullable(),
  replayed: z.boolean(),
  dryRun: z.boolean(),
  workflow: z.string().nullable(),
  decision: decision.nullable(),
  hasLog: z.boolean(),
}) satisfies z.ZodType<FoundCall>

export const LIST_CALLS: RouteSchemas = {
  params: none,
  query: z.strictObject({
    tool: z.string().optional(),
    outcome: z.union([z.enum(['success', 'failure']), errorCode]).optional(),
    since: z.string().optional(),
    ...page,
  }),
  answers: { 200: z.strictObject({ items: z.array(call) }) },
}
export const READ_CALL: RouteSchemas = { params: byId, query: none, answers: { 200: call } }
export const READ_LOG: RouteSchemas = {
  params: byId,
  query: none,
  answers: {
    200: z.strictObject({
      invocationId: uuid,
      tool: z.string().nullable(),
      at: time,
      text: z.string(),
      truncated: z.boolean(),
    }),
  },
}
