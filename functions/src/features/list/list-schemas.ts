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
  unlessSame,
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
const list = z
  .union([tools, z.strictObject({ items: z.array(listed.required({ workflowName: true })) })])
  .describe('the list of the tools, or with `envelope=items` `{items}`')

const names = several
  .optional()
  .describe(
    'Exact names or aliases: one name, a comma-separated list or a JSON array, at most 200. `[]` means no tool. `NAME@sha256:…` leaves the tool out if its digest is another one.',
  )
const asNames = several.optional().describe('As `names`, and joined with it.')
const filters = {
  names,
  only: asNames,
  tags: several.optional().describe('Tools that have any of these tags, separated by commas, at most 50.'),
  category: several.optional().describe('Tools of any of these categories, separated by commas, at most 50.'),
  q: z
    .string()
    .optional()
    .describe(
      'What the tools should do, in words. The list has only tools that fit, the best first. Of more than 1,000 characters, the first and the last 500 count. Not with `cursor`.',
    ),
  with: several
    .optional()
    .describe(
      '`search`: the list begins with `search_tools` and `load_tools`, by which a model finds other tools.',
    ),
  loaded: several
    .optional()
    .describe(
      'Names of tools that stand at the end of the list in this order, whatever the filters say, at most 200. Not with `cursor`, and with `limit` only if `q` is there.',
    ),
  dialect: z
    .enum(DIALECTS)
    .optional()
    .describe("The list is the value of this vendor's `tools` field. Default: the definitions as they are."),
  envelope: z
    .enum(ENVELOPES)
    .optional()
    .describe(
      '`items`: `{"items":[…]}` with `workflowName` on each item, in a dialect only with `openai` and `openai-strict`. Default: `array`, or without `dialect` the `LIST_ENVELOPE` of the operator.',
    ),
  scope: several
    .optional()
    .describe(
      'A scope, such as `@web,!web_post`, or `ref:KIND/ID` for a stored one. At most 8; a tool must be in each of them.',
    ),
  session: z.string().optional().describe('The id of a session: only its tools.'),
  budget: whole(0, 999_999_999_999_999)
    .optional()
    .describe(
      'The most o200k tokens of the list. Tools that do not fit are shortened, listed by name only, or left out. Not with `limit` or `cursor`.',
    ),
}
const listQuery = z.strictObject({
  ...filters,
  name: asNames,
  strict: flag
    .optional()
    .describe('With `1`, the answer is a 503 unless every layer and all rules could be read. Default: `0`.'),
  tokens: flag
    .optional()
    .describe('With `1`, the header `X-Tools-Tokens` says what the list takes. Default: `0`.'),
  explain: several
    .optional()
    .describe(
      '`scores`: each tool that `q` finds has `x-toolrack`, with how well it fits and the names of near-identical tools. Only with `q`, and not with `dialect`, `envelope=items`, `budget` or `tokens`.',
    ),
  ...page(1_000),
  limit: whole(1, 1_000).optional().describe('The most tools of a page. Default: the whole list.'),
})

export const LIST_TOOLS: RouteSchemas = {
  summary: 'Lists the tools that you may use, ready for the `tools` field of a model.',
  params: none,
  query: listQuery,
  headers: unlessSame,
  answers: { 200: list },
}
/** The same parameters, whose descriptions stand with the list. */
function asInList<Shape extends Readonly<Record<string, z.ZodType>>>(shape: Shape): Shape {
  const described = Object.entries(shape).map(([name, field]) => [name, field.describe('As in the list.')])
  return Object.fromEntries(described) as Shape
}

/** The path names the session. */
export const LIST_SESSION_TOOLS: RouteSchemas = {
  summary: 'Lists the tools of a session.',
  params: byId('The id of the session.'),
  query: z.strictObject(asInList(listQuery.omit({ session: true }).shape)),
  headers: unlessSame,
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
  summary: 'Answers what each layer holds for a name, and why a list shows the tool or not.',
  params: none,
  query: z.strictObject({
    name: z.string().describe('The name or alias of the tool.'),
    ...asInList(filters),
    budget: filters.budget.describe(
      'As in the list. The answer then says how the list shows the tool, and why.',
    ),
  }),
  answers: {
    200: explanation.extend({
      refused: z.strictObject({ reason: z.literal('DIGEST_CHANGED'), message: z.string() }).exactOptional(),
      budget: budget.exactOptional(),
    }),
  },
}
