import { z } from 'zod'
import { byId, count, digest, none, nothing, time, toolName, whole } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import type { ChosenTool, SessionFacts } from './session.ts'

const facts = z.strictObject({
  model: z.string().nullable(),
  agent: z.string().nullable(),
  workflow: z.string().nullable(),
  room: z.string().nullable(),
  parent: z.string().nullable(),
  lockDigests: z.boolean(),
}) satisfies z.ZodType<SessionFacts>
const tool = z.strictObject({
  name: toolName,
  digest: digest.nullable(),
}) satisfies z.ZodType<ChosenTool>
const selection = z.union([z.enum(['all', 'none']), z.array(z.string())])
const shown = facts.extend({
  id: z.string(),
  digest,
  selection: z.union([z.enum(['all', 'none', 'chosen']), z.array(toolName)]),
  createdAt: time,
  lockedAt: time.nullable(),
  /** Only of a locked session. */
  tools: z.array(tool).exactOptional(),
})
const head = facts.extend({
  id: z.string(),
  digest,
  selection: z.enum(['all', 'none', 'chosen']),
  tools: count.nullable(),
  createdAt: time,
  updatedAt: time,
  lockedAt: time.nullable(),
  usedAt: time,
  expiresAt: time,
})
const sent = facts.partial().extend({ selection: selection.optional() })
const created = shown.extend({ outcome: z.literal('created') })

export const LIST_SESSIONS: RouteSchemas = {
  params: none,
  query: z.strictObject({ limit: whole(1, 200).optional(), cursor: z.string().optional() }),
  answers: { 200: z.strictObject({ items: z.array(head) }) },
}
export const READ_SESSION: RouteSchemas = { params: byId, query: none, answers: { 200: shown } }
export const WRITE_SESSION: RouteSchemas = {
  params: byId,
  query: none,
  body: sent,
  answers: { 200: shown.extend({ outcome: z.enum(['updated', 'unchanged']) }), 201: created },
}
export const DELETE_SESSION: RouteSchemas = { params: byId, query: none, answers: { 204: nothing } }
export const FORK_SESSION: RouteSchemas = {
  params: byId,
  query: none,
  body: sent.extend({ id: z.string() }),
  answers: { 200: shown.extend({ outcome: z.literal('unchanged') }), 201: created },
}
export const LOCK_SESSION: RouteSchemas = {
  params: byId,
  query: none,
  body: z.strictObject({ selection: selection.optional() }),
  answers: { 200: z.strictObject({ lockedAt: time, tools: z.array(tool) }) },
}
