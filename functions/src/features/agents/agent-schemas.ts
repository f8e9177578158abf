import { z } from 'zod'
import { byId, jsonObject, none, whole } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { AGENT_TOOLS_MAX, AGENTS_PER_USER, type Agent, type FixedAgent } from './agent.ts'

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

/** Unknown parameters and fields are ignored, as in the original service, which Toolrack replaces. */
const anything = z.looseObject({})
const names = z.union([z.string(), z.array(z.string())])
const NAME = 'The name, 1 to 200 characters.'
const sentAgent = z.looseObject({
  name: z.string().optional().describe(NAME),
  description: z.string().nullish().describe('What the agent is for, at most 4,000 characters.'),
  workflowName: z.string().nullish().describe('The workflow that runs the agent, at most 256 characters.'),
  tools: names
    .nullish()
    .describe(`The name of a tool, or a list of at most ${AGENT_TOOLS_MAX} names. They need not exist.`),
  inputSchema: jsonObject
    .nullish()
    .describe('The JSON Schema of what the agent takes, at most 32 KB and 16 levels.'),
})
const newAgent = sentAgent.extend({
  name: z.string().describe(`${NAME} The id is made from it.`),
})
const sentNames = (what: string) =>
  z.looseObject({
    tools: names.describe(`The name of a tool to ${what}, or a list of at most ${AGENT_TOOLS_MAX} names.`),
  })
const byAgent = byId('The id of the agent.')
const bySession = z.strictObject({
  sessionId: z
    .string()
    .describe('The id of the session: 1 to 200 characters without `/`, which the program chooses.'),
})
const project = {
  'X-Project-Id': 'The project to which the link belongs. Without it, the link belongs to no project.',
}

const one = z.strictObject({ agent })
const tools = z.strictObject({ tools: z.array(z.string()) })
const ok = z.strictObject({ ok: z.literal(true) })
const link = z.strictObject({ sessionId: z.string(), agentId: z.string() })

export const LIST_AGENTS: RouteSchemas = {
  summary: 'Lists your agents, and after them those in files whose id is free.',
  params: none,
  query: z.looseObject({
    limit: whole(1, AGENTS_PER_USER).optional().describe('The most agents of your own. Default: 50.'),
    order: z
      .enum(['desc', 'asc'])
      .optional()
      .describe('The order by the time of creation. Default: `desc`, the newest first.'),
  }),
  answers: { 200: z.strictObject({ agents: z.array(agent) }) },
}
export const CREATE_AGENT: RouteSchemas = {
  summary: 'Creates an agent.',
  params: none,
  query: anything,
  body: newAgent,
  answers: { 201: one },
}
export const READ_AGENT: RouteSchemas = {
  summary: 'Reads an agent.',
  params: byAgent,
  query: anything,
  answers: { 200: one },
}
export const CHANGE_AGENT: RouteSchemas = {
  ...READ_AGENT,
  summary: 'Changes the fields of an agent that are sent, each as a whole.',
  body: sentAgent,
}
export const DELETE_AGENT: RouteSchemas = {
  summary: 'Deletes an agent.',
  params: byAgent,
  query: anything,
  answers: { 200: ok },
}
export const READ_TOOLS: RouteSchemas = {
  summary: 'Lists the names of the tools of an agent.',
  params: byAgent,
  query: anything,
  answers: { 200: tools },
}
export const ADD_TOOLS: RouteSchemas = {
  ...READ_TOOLS,
  summary: 'Adds names to the tools of an agent. The answer has all its tools.',
  body: sentNames('add'),
}
export const REMOVE_TOOLS: RouteSchemas = {
  ...READ_TOOLS,
  summary: 'Removes names from the tools of an agent. The answer has all its tools.',
  body: sentNames('remove'),
}
export const LINK_SESSION: RouteSchemas = {
  summary: 'Links a session to an agent, whose rules then bind the session.',
  params: bySession,
  query: anything,
  headers: project,
  body: z.looseObject({ agentId: z.string().describe('The id of the agent.') }),
  answers: { 200: link },
}
export const READ_LINK: RouteSchemas = {
  summary: 'Reads to which agent a session is linked.',
  params: bySession,
  query: anything,
  headers: project,
  answers: { 200: link },
}
export const UNLINK_SESSION: RouteSchemas = {
  ...READ_LINK,
  summary: 'Removes the link of a session to its agent.',
  answers: { 200: ok },
}
export const READ_LINKED_TOOLS: RouteSchemas = {
  ...READ_LINK,
  summary: 'Lists the names of the tools of the agent to which a session is linked.',
  answers: { 200: tools },
}
