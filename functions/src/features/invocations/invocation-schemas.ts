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
  artifacts: z.array(uuid).exactOptional(),
  hasLog: z.boolean(),
}) satisfies z.ZodType<FoundCall>

const byInvocation = byId('The `invocationId` of the call.')

export const LIST_CALLS: RouteSchemas = {
  summary: 'Lists your calls of the last 24 hours, the newest first.',
  params: none,
  query: z.strictObject({
    tool: z.string().optional().describe('Only calls of the tool of this name.'),
    outcome: z
      .union([z.enum(['success', 'failure']), errorCode])
      .optional()
      .describe('`success`, `failure`, or the code of a failure, such as `TOOL_RAISED`.'),
    since: z
      .string()
      .optional()
      .describe(
        'Only calls that arrived at this time or later: RFC 3339 with a zone, such as `2026-01-31T12:00:00Z`, and not in the future.',
      ),
    ...page(100),
  }),
  answers: { 200: z.strictObject({ items: z.array(call) }) },
}
export const READ_CALL: RouteSchemas = {
  summary: 'Reads what is known of one call.',
  params: byInvocation,
  query: none,
  answers: { 200: call },
}
export const READ_LOG: RouteSchemas = {
  summary: 'Reads what one call printed, at most 64 KB, without secrets that can be recognised.',
  params: byInvocation,
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
