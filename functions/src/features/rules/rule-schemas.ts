import { ARGUMENT_KINDS, RULE_EFFECTS, type RuleSet } from '@toolrack/contract'
import { z } from 'zod'
import { count, digest, json, none, owner, rule, time } from '../../http/answer-shapes.ts'
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
const byOwner = z.strictObject({ kind: z.string(), id: z.string() })
const known = { updatedAt: time, updatedBy: z.string() }
const written = set.extend({
  owner,
  digest,
  meets: z.array(met),
  more: z.int().positive().exactOptional(),
})

export const READ_RULES: RouteSchemas = {
  params: byOwner,
  query: none,
  answers: { 200: set.extend({ owner, digest, ...known }) },
}
export const LIST_VERSIONS: RouteSchemas = {
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
  params: byOwner,
  query: none,
  body: z.strictObject({ default: z.enum(RULE_EFFECTS).optional(), rules: z.array(json).optional() }),
  answers: {
    200: written.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: written.extend({ outcome: z.literal('created') }),
  },
}
export const DELETE_RULES: RouteSchemas = {
  params: byOwner,
  query: none,
  answers: { 200: z.strictObject({ owner, outcome: z.literal('deleted'), digest }) },
}
