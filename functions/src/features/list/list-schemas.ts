import { CONVERSIONS, dialectRules, DIALECTS, type Dialect, type FoundNote } from '@toolrack/contract'
import { z } from 'zod'
import { DETAIL_LEVELS } from '../../catalog/tokens/detail-levels.ts'
import type { Explanation } from '../../catalog/views/explain-name.ts'
import { ENVELOPES } from '../../catalog/views/list-query.ts'
import {
  byId,
  count,
  decision,
  digest,
  flag,
  grant,
  jsonObject,
  layer,
  none,
  page,
  revision,
  several,
  skippedItem,
  time,
  toolName,
  unlessSame,
  whole,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import type { CircuitState } from '../circuits/circuits.ts'
import type { BudgetExplanation } from './list-budget.ts'

/** The dialects in which the envelope of a list can be `items`. */
const WITH_ITEMS = DIALECTS.filter((dialect) => dialectRules(dialect).allowsItems)
  .map((dialect) => `\`${dialect}\``)
  .join(' and ')

const note = z.strictObject({
  score: z.number(),
  twins: z.array(toolName),
}) satisfies z.ZodType<FoundNote>
/** A tool in a list without a dialect, or in a dialect of OpenAI's chat completions. */
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
      '`search`: the list begins with `search_tools` and `load_tools`, by which a model finds other tools. `artifacts`: it ends with `read_artifact`. Both: with a comma between.',
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
      `\`items\`: \`{"items":[…]}\` with \`workflowName\` on each item, in a dialect only with ${WITH_ITEMS}. Default: \`array\`, or without \`dialect\` the \`LIST_ENVELOPE\` of the operator.`,
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
  healthy: flag
    .optional()
    .describe(
      'With `1`, the list leaves out tools that are not called now, because they have failed again and again. `X-Tools-Unavailable` names them. Default: `0`.',
    ),
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

/** The headers of lists, and of answers that are made from lists. They have facts that are not in the body. */
export const listHeaders = {
  'X-Tools-Revision': 'The revision of the list, for a change feed.',
  'X-Tools-Layers':
    'The definitions of each layer before merge and filter: `user=3,global=41,file=14`. `stale`: the layer could not be read, and its last known state was used. `error`: no state of it is known. `rules=error`: rules that may hide tools could not be read.',
  'X-Tools-Unknown': 'Requested names that no tool has.',
  'X-Tools-Left-Out':
    "Requested names that a scope or the session's selection leaves out, or whose tools wait for consent. Explain says why.",
  'X-Tools-Scope-Unmatched':
    'Items of the scopes that match no tool. Characters that a header cannot have are percent-encoded.',
  'X-Tools-Quarantined': 'Tools that are left out because the dialect cannot express them. Explain says why.',
}
const ofLists = {
  ETag: 'Changes whenever the list can have changed.',
  ...listHeaders,
  'X-Tools-Changed': 'Tools of a session with `lockDigests` that have changed since its first message.',
  'X-Tools-Omitted':
    'Tools that `envelope=items` leaves out, because the service runs them and `TOOLRACK_INVOKE_WORKFLOW` is not set.',
  'X-Tools-Unavailable': 'With `healthy=1`: the tools that are left out. Explain says until when.',
  'X-Tools-Tokens':
    'With `budget` or `tokens=1`: the tokens, the budget or `-`, and how many tools are in each form: `3974/4000; full=10; short=0; deferred=95; dropped=648`.',
  Link: 'The address of the next page.',
}

export const LIST_TOOLS: RouteSchemas = {
  summary: 'Lists the tools that you may use, ready for the `tools` field of a model.',
  params: none,
  query: listQuery,
  headers: unlessSame,
  answerHeaders: ofLists,
  answers: { 200: list },
}
/** The same parameters as in a list. Their descriptions only refer to the list. */
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

const hiddenUntilConsent = z.strictObject({
  reason: z.literal('GRANTS_PENDING'),
  message: z.string(),
  grants: z.array(grant),
  grantsDigest: digest,
})
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
  status: z
    .enum(['found', 'absent', 'error'])
    .describe('`found`, `absent`, or `error` if it could not be read.'),
  stale: z.boolean(),
  role: z
    .enum(['winner', 'shadowed', 'sealed-out'])
    .exactOptional()
    .describe(
      '`winner`, `shadowed` if a layer above replaces it, or `sealed-out` if a layer below has sealed the name.',
    ),
  digest: digest.exactOptional(),
  revision: revision.exactOptional(),
  sealed: z.boolean().exactOptional(),
  source: z.string().exactOptional(),
  skipped: z
    .array(skippedItem)
    .exactOptional()
    .describe('What the layer has under the name, but cannot use.'),
})
const conversion = z.strictObject({
  alias: z.string(),
  conversion: z.enum(CONVERSIONS),
  obstacle: z.strictObject({ pointer: z.string(), reason: z.string() }).nullable(),
})
const byLevel = z.strictObject({
  full: count.exactOptional(),
  short: count.exactOptional(),
  deferred: count.exactOptional(),
})
const budget = z.strictObject({
  budget: count,
  used: count,
  rung: z.enum([...DETAIL_LEVELS, 'dropped']).nullable(),
  because: z.enum(['pinned', 'found', 'used', 'name']).exactOptional(),
  place: count.exactOptional(),
  of: count.exactOptional(),
  tokens: byLevel.required().exactOptional(),
  needs: byLevel.exactOptional(),
  message: z.string(),
}) satisfies z.ZodType<BudgetExplanation>
const explanation = z.strictObject({
  name: z.string(),
  alias: z.string(),
  revision,
  visible: z.boolean(),
  winner: layer.nullable(),
  shadowed: z.array(layer),
  callable: z
    .enum(['service', 'client'])
    .nullable()
    .describe(
      '`service` if invoke runs the tool, `client` if the client runs it, and null for kinds that this version does not run.',
    ),
  hidden: z
    .union([hidden, hiddenUntilConsent])
    .nullable()
    .describe(
      'Why the list does not show the name: `NOT_DEFINED`; `LAYER_LOST`, a layer that may define it could not be read; `NOT_SELECTED` by the session or a parent; `GRANTS_PENDING`, nobody has accepted `grants` yet; `DENIED` by a rule; `OUT_OF_SCOPE`; `NOT_GRANTED` by the job token; `DIGEST_CHANGED`, the job token has an old digest. Only `OUT_OF_SCOPE` refuses no call.',
    ),
  layers: z.array(inLayer),
  dialects: z
    .record(z.enum(DIALECTS), conversion)
    .nullable()
    .describe(
      'For each dialect the name that the vendor gets, and how the definition is converted: `full`, `rewritten`, `non-strict` or `quarantined`. The last two have an `obstacle`.',
    ),
}) satisfies z.ZodType<Omit<Explanation, 'hidden'> & { dialects: Record<Dialect, unknown> | null }>

const circuit = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('closed') }),
  z.strictObject({ state: z.literal('open'), for: z.enum(['you', 'everybody']), until: time }),
  z.strictObject({ state: z.literal('half-open'), for: z.literal('you') }),
]) satisfies z.ZodType<CircuitState>

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
      circuit: circuit
        .exactOptional()
        .describe(
          'Whether the service calls the tool: `closed`: yes; `open`: not before `until`, because it has failed again and again; `half-open`: one call is let through, and shows whether the tool works again. Only of tools that the service runs.',
        ),
      refused: z
        .strictObject({ reason: z.literal('DIGEST_CHANGED'), message: z.string() })
        .exactOptional()
        .describe(
          'Is there if the session has locked another digest: the list has the tool, and a call is refused.',
        ),
      budget: budget.exactOptional(),
    }),
  },
}
