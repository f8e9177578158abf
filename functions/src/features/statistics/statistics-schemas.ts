import { z } from 'zod'
import { count, errorCode, none, time, toolName } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { WINDOWS } from './statistics-routes.ts'
import { CIRCUIT_STATES, type ToolStatistics } from './tool-statistics.ts'

const milliseconds = z.number().nonnegative().nullable()

const tool = z.strictObject({
  name: toolName,
  calls: count.describe('The calls that have run the tool. Replays and dry runs do not count.'),
  refused: count.describe(
    'The calls that ended before the tool ran: they were refused, wait for an approval, or were cancelled.',
  ),
  successRate: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('The part of `calls` that succeeded. Null without calls.'),
  p50Ms: milliseconds.describe(
    'The median of the durations of `calls`, in the service and the runner together. It differs by less than 10 % from the true one.',
  ),
  p95Ms: milliseconds.describe('The 95th percentile, as exact as `p50Ms`.'),
  lastError: z
    .strictObject({ code: errorCode, at: time })
    .nullable()
    .describe('The last call that failed or was refused.'),
  lastUsed: time.nullable().describe('When the last call arrived.'),
  lists: count.describe('How often the tool was in a list.'),
  definitionTokens: count.describe(
    'The tokens (`o200k_base`) that the definition took in these lists together.',
  ),
  circuit: z
    .enum(CIRCUIT_STATES)
    .nullable()
    .describe(
      'The circuit breaker of the tool for you. Null if you do not see the tool, and in the statistics of another user.',
    ),
}) satisfies z.ZodType<ToolStatistics>

export const READ_STATISTICS: RouteSchemas = {
  summary: 'Tells how often your tools were called, and how well. An admin reads the calls of all users.',
  params: none,
  query: z.strictObject({
    window: z
      .enum(WINDOWS)
      .optional()
      .describe('`hour`: this hour and the one before. `day`: this hour and the 24 before. Default: `day`.'),
    name: z.string().optional().describe('Only the tool of exactly this name.'),
    uid: z.string().optional().describe('Only the calls of this user. Only an admin may name another user.'),
  }),
  answers: {
    200: z.strictObject({
      window: z.enum(WINDOWS),
      from: time.describe('The calls since this time are counted.'),
      incompleteSince: time
        .nullable()
        .describe(
          'Since when counts may be missing, because the store could not be read or written. Null: none.',
        ),
      tools: z.array(tool),
    }),
  },
}
