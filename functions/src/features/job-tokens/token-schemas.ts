import { z } from 'zod'
import { JOB_TOKEN_SECONDS, JOB_TOKEN_TOOLS_MAX } from '../../access/job-token.ts'
import { digest, none, time, toolName } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

const granted = z
  .array(z.strictObject({ name: toolName, digest }))
  .min(1)
  .max(JOB_TOKEN_TOOLS_MAX)

export const CREATE_TOKEN: RouteSchemas = {
  params: none,
  query: none,
  body: z.strictObject({
    workflowId: z.string(),
    tools: granted,
    ttl: z.int().min(1).max(JOB_TOKEN_SECONDS.max).optional(),
  }),
  answers: { 201: z.strictObject({ token: z.string(), expiresAt: time, tools: granted }) },
}
