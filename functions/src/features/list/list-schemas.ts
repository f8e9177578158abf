import { CONVERSIONS, DIALECTS, type Dialect, type FoundNote } from '@toolrack/contract'
import { z } from 'zod'
import { RUNGS } from '../../catalog/tokens/rungs.ts'
import type { Explanation } from '../../catalog/views/explain-name.ts'
import { ENVELOPES } from '../../catalog/views/list-query.ts'
import {
  byId,
  count,
  decision,
  digest,
  flag,
  jsonObject,
  layer,
  none,
  page,
  revision,
  several,
  skippedItem,
  toolName,
  whole,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import type { BudgetExplanation } from './list-budget.ts'

const note = z.strictObject({
  score: z.number(),
  twins: z.array(toolName),
}) satisfies z.ZodType<FoundNote>
/** A tool as a list without a dialect shows it, and as the dialects of OpenAI's chat completions do. */
const listed = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    description: z.string().exactOptional(),
    parameters: jsonObject,
    strict: z.boolean().exactOptional(),
  }),
  workflowName: z.string().exactOptional(),
  'x-toolrack': note.exactOptional(),
})
/** A tool in another dialect. `packages/contract` has the types of the vendors. */
const inDialect = z.looseObject({ function: z.never().exactOptional() })
const tools = z.array(z.union([listed, inDialect]))
const list = z.union([tools, z.strictObject({ items: z.array(listed.required({ workflowName: true })) })])

const filters = {
  names: several.optional(),
  only: several.optional(),
  tags: several.optional(),
  category: several.optional(),
  q: z.string().optional(),
  with: several.optional(),
  loaded: several.optional(),
  dialect: z.enum(DIALECTS).optional(),
  envelope: z.enum(ENVELOPES).optional(),
  scope: several.optional(),
  session: z.string().optional(),
  budget: whole(0, 999_999_999_999_999).optional(),
}
const listQuery = z.strictObject({
  ...filters,
  name: several.optional(),
  strict: flag.optional(),
  tokens: flag.optional(),
  explain: several.optional(),
  ...page,
})

export const LIST_TOOLS: RouteSchemas = { params: none, query: listQuery, answers: { 200: list } }
/** The path names the session. */
export const LIST_SESSION_TOOLS: RouteSchemas = {
  params: byId,
  query: listQuery.omit({ session: true }),
  answers: { 200: list },
}

const hidden = z.strictObject({
  reason: z.enum([
    'NOT_DEFINED',
    'NOT_GRANTED',
    'LAYER_LOST',
    'DIGEST_CHANGED',
    'DENIED',
    'OUT_OF_SCOPE',
    'NOT_SELECTED',
  ]),
  message: z.string(),
  scope: z.string().exactOptional(),
  decision: decision.exactOptional(),
})
const inLayer = z.strictObject({
  layer,
  status: z.enum(['found', 'absent', 'error']),
  stale: z.boolean(),
  role: z.enum(['winner', 'shadowed', 'sealed-out']).exactOptional(),
  digest: digest.exactOptional(),
  revision: revision.exactOptional(),
  sealed: z.boolean().exactOptional(),
  source: z.string().exactOptional(),
  skipped: z.array(skippedItem).exactOptional(),
})
const conversion = z.strictObject({
  alias: z.string(),
  conversion: z.enum(CONVERSIONS),
  obstacle: z.strictObject({ pointer: z.string(), reason: z.string() }).nullable(),
})
const onRungs = z.strictObject({
  full: count.exactOptional(),
  short: count.exactOptional(),
  deferred: count.exactOptional(),
})
const budget = z.strictObject({
  budget: count,
  used: count,
  rung: z.enum([...RUNGS, 'dropped']).nullable(),
  because: z.enum(['pinned', 'found', 'used', 'name']).exactOptional(),
  place: count.exactOptional(),
  of: count.exactOptional(),
  tokens: onRungs.required().exactOptional(),
  needs: onRungs.exactOptional(),
  message: z.string(),
}) satisfies z.ZodType<BudgetExplanation>
const explanation = z.strictObject({
  name: z.string(),
  alias: z.string(),
  revision,
  visible: z.boolean(),
  winner: layer.nullable(),
  shadowed: z.array(layer),
  callable: z.enum(['service', 'client']).nullable(),
  hidden: hidden.nullable(),
  layers: z.array(inLayer),
  dialects: z.record(z.enum(DIALECTS), conversion).nullable(),
}) satisfies z.ZodType<Omit<Explanation, 'hidden'> & { dialects: Record<Dialect, unknown> | null }>

export const EXPLAIN: RouteSchemas = {
  params: none,
  query: z.strictObject({ name: z.string(), ...filters }),
  answers: {
    200: explanation.extend({
      refused: z.strictObject({ reason: z.literal('DIGEST_CHANGED'), message: z.string() }).exactOptional(),
      budget: budget.exactOptional(),
    }),
  },
}
