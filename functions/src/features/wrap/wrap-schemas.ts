import { DIALECTS, type BilledLayer } from '@toolrack/contract'
import { z } from 'zod'
import { count, jsonObject, none } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

const billed = z.strictObject({
  name: z.string(),
  tokens: count,
  outcome: z.enum(['whole', 'cut', 'dropped']),
}) satisfies z.ZodType<BilledLayer>

export const WRAP: RouteSchemas = {
  params: none,
  query: none,
  body: z.strictObject({
    targetTokens: count,
    layers: z
      .array(z.strictObject({ name: z.string(), text: z.string(), priority: z.int().min(0).max(1_000) }))
      .max(100)
      .optional(),
    dialect: z.enum(DIALECTS).optional(),
    scope: z.union([z.string(), z.array(z.string())]).optional(),
    session: z.string().optional(),
    toolsTokens: count.optional(),
    maxTools: count.optional(),
    model: z.string().min(1).max(256).optional(),
    guide: z.boolean().optional(),
    with: z.literal('search').optional(),
    loaded: z.array(z.string()).optional(),
  }),
  answers: {
    200: z.strictObject({
      text: z.string(),
      system: z.string(),
      context: z.string(),
      /** In the dialect that was asked for. */
      tools: z.array(jsonObject),
      bill: z.strictObject({
        total: count,
        layers: z.array(billed),
        tools: z.strictObject({ full: count, short: count, deferred: count, dropped: count }),
      }),
    }),
  },
}
