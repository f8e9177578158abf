import { z } from 'zod'
import { CALL_LIMITS_MAX } from '../../call-limits.ts'
import { JOB_TOKEN_SECONDS, JOB_TOKEN_TOOLS_MAX } from '../../access/job-token.ts'
import { digest, none, time, toolName } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

const granted = z
  .array(
    z.strictObject({
      name: toolName.describe('The name or alias of the tool.'),
      digest: digest.describe('Its current digest, as explain shows it.'),
    }),
  )
  .min(1)
  .max(JOB_TOKEN_TOOLS_MAX)

export const CREATE_TOKEN: RouteSchemas = {
  summary: 'Creates a job token: a short-lived token for a workflow, with which only the named tools exist.',
  params: none,
  query: none,
  body: z.strictObject({
    workflowId: z
      .string()
      .describe(
        'The workflow that gets the token: 1 to 256 letters, digits, `_`, `.`, `:`, `/`, `@` or `-`, a letter or digit first.',
      ),
    tools: granted.describe(`The tools that the token names, 1 to ${JOB_TOKEN_TOOLS_MAX} of your catalog.`),
    ttl: z
      .int()
      .min(1)
      .max(JOB_TOKEN_SECONDS.max)
      .optional()
      .describe(`For how many seconds the token is valid. Default: ${JOB_TOKEN_SECONDS.standard}.`),
    limits: z
      .strictObject({
        callsPerMinute: z
          .int()
          .min(1)
          .max(CALL_LIMITS_MAX.callsPerMinute)
          .optional()
          .describe('Calls a minute with this token.'),
        concurrent: z
          .int()
          .min(1)
          .max(CALL_LIMITS_MAX.concurrent)
          .optional()
          .describe('Calls with this token that run at the same time.'),
      })
      .optional()
      .describe('Limits of the calls with this token, besides those of the user. Default: none.'),
  }),
  answers: { 201: z.strictObject({ token: z.string(), expiresAt: time, tools: granted }) },
}
