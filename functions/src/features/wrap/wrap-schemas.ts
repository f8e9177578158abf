import { DIALECTS, type BilledLayer } from '@toolrack/contract'
import { z } from 'zod'
import { count, jsonObject, none } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { listHeaders } from '../list/list-schemas.ts'

const billed = z.strictObject({
  name: z.string(),
  tokens: count,
  outcome: z.enum(['whole', 'cut', 'dropped']),
}) satisfies z.ZodType<BilledLayer>

export const WRAP: RouteSchemas = {
  summary: "Composes a prompt's text and tools within a number of tokens, and says what each part takes.",
  params: none,
  query: none,
  body: z.strictObject({
    targetTokens: count.describe('The most o200k tokens of the text and the tools together.'),
    layers: z
      .array(
        z.strictObject({
          name: z
            .string()
            .describe(
              '1 to 64 letters, digits, `_`, `.`, `:` or `-`. Not `tools` and not `guide`, and each name once.',
            ),
          text: z.string().describe('The text.'),
          priority: z
            .int()
            .min(0)
            .max(1_000)
            .describe('Lower numbers stand first and are kept longest. Tools have 50.'),
        }),
      )
      .max(100)
      .optional()
      .describe('The parts of the text, at most 100. Default: none.'),
    dialect: z
      .enum(DIALECTS)
      .optional()
      .describe('As in the list. Default: that of the model, if it is known.'),
    scope: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .describe('As in the list, or a list of scopes, which all apply.'),
    session: z.string().optional().describe('As in the list.'),
    toolsTokens: count
      .optional()
      .describe('The most tokens of the tools. Default: a quarter of `targetTokens`.'),
    maxTools: count.optional().describe('The most tools. Default: that of the model, if it is known.'),
    model: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe(
        'The name of the model, which decides `dialect` and `maxTools`. Default: the model of the session.',
      ),
    guide: z
      .boolean()
      .optional()
      .describe('With `true`, the text also has a section with a line for each tool. Default: `false`.'),
    with: z.literal('search').optional().describe('As in the list.'),
    loaded: z
      .array(z.string())
      .optional()
      .describe('Names of at most 200 tools that the model has loaded. They come first in the budget.'),
  }),
  answerHeaders: listHeaders,
  answers: {
    200: z.strictObject({
      text: z.string().describe('All text of the prompt.'),
      system: z.string().describe('What `text` has of the layer `system`.'),
      context: z.string().describe('What `text` has of all other layers.'),
      tools: z.array(jsonObject).describe("The value for the vendor's `tools` field."),
      bill: z.strictObject({
        total: count,
        layers: z.array(billed),
        tools: z.strictObject({ full: count, short: count, deferred: count, dropped: count }),
      }),
    }),
  },
}
