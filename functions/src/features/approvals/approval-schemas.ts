import { z } from 'zod'
import { byId, digest, jsonObject, none, nothing, owner, page, time, uuid } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { APPROVAL_STATES } from './approval.ts'

const shown = z.strictObject({
  id: uuid,
  status: z.enum(APPROVAL_STATES),
  tool: z.string(),
  digest,
  owner: owner.nullable(),
  rule: z.int().nullable(),
  reason: z.string(),
  session: z.string().nullable(),
  workflow: z.string().nullable(),
  createdAt: time,
  expiresAt: time,
  decidedAt: time.nullable(),
  isEdited: z.boolean(),
  invocationId: uuid.nullable(),
})

export const LIST_APPROVALS: RouteSchemas = {
  params: none,
  query: z.strictObject({
    status: z.enum(APPROVAL_STATES).optional(),
    tool: z.string().optional(),
    ...page,
  }),
  answers: { 200: z.strictObject({ items: z.array(shown) }) },
}
export const READ_APPROVAL: RouteSchemas = {
  params: byId,
  query: none,
  answers: { 200: shown.extend({ arguments: jsonObject, editedArguments: jsonObject.exactOptional() }) },
}
export const DECIDE_APPROVAL: RouteSchemas = {
  params: byId,
  query: none,
  body: z.strictObject({
    decision: z.enum(['once', 'always', 'session', 'deny']),
    arguments: jsonObject.optional(),
  }),
  answers: { 200: shown },
}
export const REMOVE_APPROVAL: RouteSchemas = { params: byId, query: none, answers: { 204: nothing } }
