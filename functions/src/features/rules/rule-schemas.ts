import { ARGUMENT_KINDS, OWNER_KINDS, RULE_EFFECTS, type RuleSet } from '@toolrack/contract'
import { z } from 'zod'
import {
  count,
  digest,
  json,
  none,
  owner,
  precondition,
  rule,
  time,
  unlessSame,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import type { MetTool } from './met-tools.ts'

const set = z.strictObject({
  default: z.enum(RULE_EFFECTS),
  rules: z.array(rule),
}) satisfies z.ZodType<RuleSet>
const kind = z.enum([...ARGUMENT_KINDS, 'other'])
const met = z.strictObject({
  tool: z.string(),
  args: z.record(z.string(), kind),
  also: z.record(z.string(), z.array(kind)).exactOptional(),
  more: count.exactOptional(),
}) satisfies z.ZodType<MetTool>
const byOwner = z.strictObject({
  kind: z.enum(OWNER_KINDS).describe('The kind of the owner.'),
  id: z
    .string()
    .describe('The id of the owner: `all` for everybody, else that of the user, workflow, session or agent.'),
})
const known = { updatedAt: time, updatedBy: z.string() }
const written = set.extend({
  owner,
  digest,
  meets: z.array(met).describe('How each argument of each tool that the rules meet is read.'),
  more: z.int().positive().exactOptional().describe('How many tools are left out of `meets`.'),
})

export const READ_RULES: RouteSchemas = {
  summary: 'Reads the rules of one owner.',
  params: byOwner,
  query: none,
  headers: unlessSame,
  answers: { 200: set.extend({ owner, digest, ...known }) },
}
export const LIST_VERSIONS: RouteSchemas = {
  summary: 'Lists the last 20 versions of the rules of one owner, the newest first.',
  params: byOwner,
  query: none,
  answers: {
    200: z.strictObject({
      owner,
      versions: z.array(
        z.union([
          set.extend({ version: z.int().positive(), digest, ...known }),
          z.strictObject({
            version: z.int().positive(),
            digest: z.null(),
            ...known,
            isDeleted: z.literal(true),
          }),
        ]),
      ),
    }),
  },
}
export const WRITE_RULES: RouteSchemas = {
  summary: 'Creates or replaces all rules of one owner.',
  params: byOwner,
  query: none,
  headers: precondition,
  body: z.strictObject({
    default: z
      .enum(RULE_EFFECTS)
      .optional()
      .describe('What becomes of a call that no rule matches. Default: `allow`.'),
    rules: z
      .array(json)
      .optional()
      .describe(
        'The rules, each `{effect, tool, class?, args?, future?}` or, about grants, `{effect, grant, value, future?}`. Default: none.',
      ),
  }),
  answers: {
    200: written.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: written.extend({ outcome: z.literal('created') }),
  },
}
export const DELETE_RULES: RouteSchemas = {
  summary: 'Deletes the rules of one owner.',
  params: byOwner,
  query: none,
  headers: precondition,
  answers: { 200: z.strictObject({ owner, outcome: z.literal('deleted'), digest }) },
}
