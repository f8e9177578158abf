import { z } from 'zod'
import { digest, none, nothing, precondition, time, unlessSame } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { CALL_LIMITS_MAX } from '../../call-limits.ts'
import { LIMIT_KINDS } from './owner-limits.ts'

const byOwner = z.strictObject({
  kind: z.enum(LIMIT_KINDS).describe('The kind of the owner.'),
  id: z.string().describe('The id of the user or the workflow.'),
})
const callsPerMinute = z
  .int()
  .min(1)
  .max(CALL_LIMITS_MAX.callsPerMinute)
  .describe('Calls a minute. After a pause of a minute, this many may be made at once.')
const concurrent = z.int().min(1).max(CALL_LIMITS_MAX.concurrent).describe('Calls that run at the same time.')
const owner = z.strictObject({ kind: z.enum(LIMIT_KINDS), id: z.string() })
const kept = z.strictObject({
  callsPerMinute: callsPerMinute.exactOptional(),
  concurrent: concurrent.exactOptional(),
  owner,
  digest,
  updatedAt: time,
  updatedBy: z.string(),
})

export const READ_LIMITS: RouteSchemas = {
  summary: 'Reads the limits that an admin has set for a user or a workflow.',
  params: byOwner,
  query: none,
  headers: unlessSame,
  answers: { 200: kept },
}
export const WRITE_LIMITS: RouteSchemas = {
  summary: "Sets or replaces the limits of a user, or of each user's jobs of a workflow. For admins.",
  params: byOwner,
  query: none,
  headers: precondition,
  body: z.strictObject({ callsPerMinute: callsPerMinute.optional(), concurrent: concurrent.optional() }),
  answers: {
    200: kept.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: kept.extend({ outcome: z.literal('created') }),
  },
}
export const DELETE_LIMITS: RouteSchemas = {
  summary: 'Takes away the limits that an admin has set.',
  params: byOwner,
  query: none,
  headers: precondition,
  answers: { 204: nothing },
}
