import { z } from 'zod'
import {
  byId,
  count,
  digest,
  none,
  nothing,
  page,
  precondition,
  time,
  toolName,
  unlessSame,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { SESSION_TOOLS_MAX, type ChosenTool, type SessionFacts } from './session.ts'

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
  tools: z.array(tool).exactOptional().describe('Only of a locked session.'),
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
const NAME = 'letters, digits, `_`, `.`, `:`, `/`, `@` or `-`, at most 256, a letter or digit first'
const sent = z.strictObject({
  model: facts.shape.model
    .optional()
    .describe('The name of the model, at most 256 characters. Default: null.'),
  agent: facts.shape.agent.optional().describe(`The agent, whose rules then apply: ${NAME}. Default: null.`),
  workflow: facts.shape.workflow
    .optional()
    .describe('The workflow, whose stored scope then applies. Written as an agent. Default: null.'),
  room: facts.shape.room
    .optional()
    .describe('The room, whose stored scope then applies. Written as an agent. Default: null.'),
  parent: facts.shape.parent
    .optional()
    .describe('The session whose selection this one never exceeds. Default: null.'),
  lockDigests: facts.shape.lockDigests
    .optional()
    .describe(
      'With `true`, a tool whose definition changes after the first message cannot be called any more. Default: `false`.',
    ),
  selection: selection
    .optional()
    .describe(
      `\`all\`, \`none\`, or a list of at most ${SESSION_TOOLS_MAX.toLocaleString('en')} names or aliases. Default: \`all\`.`,
    ),
})
const bySession = byId(
  'The id of the session, which you choose: 1 to 128 letters, digits, `_`, `.`, `:` or `-`, a letter or digit first.',
)
const created = shown.extend({ outcome: z.literal('created') })

export const LIST_SESSIONS: RouteSchemas = {
  summary: 'Lists your sessions, by id.',
  params: none,
  query: z.strictObject(page(200, 200)),
  answers: { 200: z.strictObject({ items: z.array(head) }) },
}
export const READ_SESSION: RouteSchemas = {
  summary: 'Reads a session.',
  params: bySession,
  query: none,
  headers: unlessSame,
  answers: { 200: shown },
}
export const WRITE_SESSION: RouteSchemas = {
  summary: 'Creates a session with its selection of tools, or replaces all fields of one.',
  params: bySession,
  query: none,
  headers: precondition,
  body: sent,
  answers: { 200: shown.extend({ outcome: z.enum(['updated', 'unchanged']) }), 201: created },
}
export const DELETE_SESSION: RouteSchemas = {
  summary: 'Ends a session. Calls that run go on.',
  params: bySession,
  query: none,
  headers: precondition,
  answers: { 204: nothing },
}
export const FORK_SESSION: RouteSchemas = {
  summary: 'Makes an unlocked session from another one.',
  params: bySession,
  query: none,
  body: z.strictObject({
    id: z.string().describe('The id of the new session.'),
    ...Object.fromEntries(
      Object.entries(sent.shape).map(([name, field]) => [
        name,
        field.describe('As in a `PUT`. Default: that of the other session.'),
      ]),
    ),
  }),
  answers: { 200: shown.extend({ outcome: z.literal('unchanged') }), 201: created },
}
export const LOCK_SESSION: RouteSchemas = {
  summary: 'Says that the conversation begins: locks the selection. The text of the message is not sent.',
  params: bySession,
  query: none,
  body: z.strictObject({
    selection: selection
      .optional()
      .describe('A selection that is chosen in the same step. Default: the present one.'),
  }),
  answers: { 200: z.strictObject({ lockedAt: time, tools: z.array(tool) }) },
}
