import { z } from 'zod'
import { byId, jsonObject, none, whole } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { AGENTS_PER_USER, type Agent, type FixedAgent } from './agent.ts'

const fields = {
  id: z.string().min(1),
  name: z.string().min(1),
  description: z.string().nullable(),
  workflowName: z.string().nullable(),
  tools: z.array(z.string()).exactOptional(),
  inputSchema: jsonObject.exactOptional(),
}
const own = z.strictObject({ ...fields, created: z.int(), updated: z.int() }) satisfies z.ZodType<Agent>
const fixed = z.strictObject({
  ...fields,
  source: z.enum(['file', 'default']),
}) satisfies z.ZodType<FixedAgent>
const agent = z.union([own, fixed])

/** As in the original service, parameters and fields that are not known are ignored. */
const anything = z.looseObject({})
const names = z.union([z.string(), z.array(z.string())])
const sentAgent = z.looseObject({
  name: z.string().optional(),
  description: z.string().nullish(),
  workflowName: z.string().nullish(),
  tools: names.nullish(),
  inputSchema: jsonObject.nullish(),
})
const sentNames = z.looseObject({ tools: names })
const bySession = z.strictObject({ sessionId: z.string() })

const one = z.strictObject({ agent })
const tools = z.strictObject({ tools: z.array(z.string()) })
const ok = z.strictObject({ ok: z.literal(true) })
const link = z.strictObject({ sessionId: z.string(), agentId: z.string() })

export const LIST_AGENTS: RouteSchemas = {
  params: none,
  query: z.looseObject({
    limit: whole(1, AGENTS_PER_USER).optional(),
    order: z.enum(['desc', 'asc']).optional(),
  }),
  answers: { 200: z.strictObject({ agents: z.array(agent) }) },
}
export const CREATE_AGENT: RouteSchemas = {
  params: none,
  query: anything,
  body: sentAgent,
  answers: { 201: one },
}
export const READ_AGENT: RouteSchemas = { params: byId, query: anything, answers: { 200: one } }
export const CHANGE_AGENT: RouteSchemas = { ...READ_AGENT, body: sentAgent }
export const DELETE_AGENT: RouteSchemas = { params: byId, query: anything, answers: { 200: ok } }
export const READ_TOOLS: RouteSchemas = { params: byId, query: anything, answers: { 200: tools } }
export const CHANGE_TOOLS: RouteSchemas = { ...READ_TOOLS, body: sentNames }
export const LINK_SESSION: RouteSchemas = {
  params: bySession,
  query: anything,
  body: z.looseObject({ agentId: z.string() }),
  answers: { 200: link },
}
export const READ_LINK: RouteSchemas = { params: bySession, query: anything, answers: { 200: link } }
export const UNLINK_SESSION: RouteSchemas = { params: bySession, query: anything, answers: { 200: ok } }
export const READ_LINKED_TOOLS: RouteSchemas = { params: bySession, query: anything, answers: { 200: tools } }
