import { z } from 'zod'
import { byId, digest, jsonObject, none, nothing, owner, page, time, uuid } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { APPROVAL_STATES } from './approval.ts'

const shown = z.strictObject({
  id: uuid,
  status: z.enum(APPROVAL_STATES),
  tool: z.string(),
  digest,
  owner: owner.nullable().describe('The owner of the rule that asked.'),
  rule: z.int().nullable().describe("The index of this rule. Null if the owner's default asked."),
  reason: z.string(),
  session: z.string().nullable(),
  workflow: z.string().nullable(),
  createdAt: time,
  expiresAt: time,
  decidedAt: time.nullable(),
  isEdited: z.boolean(),
  invocationId: uuid.nullable().describe('The call that has used it.'),
})

const byApproval = byId('The id of the approval.')

export const LIST_APPROVALS: RouteSchemas = {
  summary: 'Lists your approvals, the newest first, without the arguments of the calls.',
  params: none,
  query: z.strictObject({
    status: z.enum(APPROVAL_STATES).optional().describe('Only approvals in this state.'),
    tool: z.string().optional().describe('Only approvals of calls of this tool, by its canonical name.'),
    ...page(1_000),
  }),
  answers: { 200: z.strictObject({ items: z.array(shown) }) },
}
export const READ_APPROVAL: RouteSchemas = {
  summary: 'Reads an approval with the arguments of the call, without their secrets.',
  params: byApproval,
  query: none,
  answers: { 200: shown.extend({ arguments: jsonObject, editedArguments: jsonObject.exactOptional() }) },
}
export const DECIDE_APPROVAL: RouteSchemas = {
  summary: 'Decides a pending approval.',
  params: byApproval,
  query: none,
  body: z.strictObject({
    decision: z
      .enum(['once', 'always', 'session', 'deny'])
      .describe(
        '`once`: the call may be made once, within 15 minutes. `always`: the rule asks no more about your calls of this tool. `session`: as `always`, for the session of the call. `deny`: the call may not be made.',
      ),
    arguments: jsonObject
      .optional()
      .describe('Only with `once`: arguments that replace those of the call. They are checked as in a call.'),
  }),
  answers: { 200: shown },
}
export const REMOVE_APPROVAL: RouteSchemas = {
  summary: 'Cancels an approval that no call has used, or forgets an `always` or a `session`.',
  params: byApproval,
  query: none,
  answers: { 204: nothing },
}
