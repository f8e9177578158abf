import { z } from 'zod'
import { byName, digest, grant, layer, none, time, toolName } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { GRANT_STATES } from './grant-routes.ts'
import type { GrantsAnswer } from './module-consents.ts'

const asked = { module: z.string(), layer, grants: z.array(grant), grantsDigest: digest }
const answer = z.strictObject({
  ...asked,
  state: z
    .enum(['none', ...GRANT_STATES])
    .describe(
      '`none`: it asks for nothing. `pending`: its tools wait for consent. `accepted`: they may use the grants.',
    ),
  acceptedBy: z
    .string()
    .nullable()
    .describe('The user who accepted, or `TOOLRACK_GRANTS`. Null if nobody had to accept, or if it waits.'),
  acceptedAt: time.nullable(),
}) satisfies z.ZodType<GrantsAnswer>
const byModule = byName('The name of the module.')
const ofLayer = z.strictObject({
  layer: layer.optional().describe('The layer. Default: `user`. `file` is that of the watched folders.'),
})

export const LIST_GRANTS: RouteSchemas = {
  summary: 'Lists the modules whose tools ask for grants, or wait for consent to them.',
  params: none,
  query: z.strictObject({
    state: z.enum(GRANT_STATES).optional().describe('Only the modules in this state. Default: all.'),
  }),
  answers: {
    200: z.strictObject({
      items: z.array(z.strictObject({ ...asked, state: z.enum(GRANT_STATES), tools: z.array(toolName) })),
    }),
  },
}
export const READ_GRANTS: RouteSchemas = {
  summary: 'Reads what the tools of a module ask for, and who has accepted it.',
  params: byModule,
  query: ofLayer,
  answers: { 200: answer },
}
export const ACCEPT_GRANTS: RouteSchemas = {
  summary: 'Accepts the grants of a module, so that its tools can be listed and called.',
  params: byModule,
  query: ofLayer,
  body: z.strictObject({
    digest: z
      .string()
      .describe('The `grantsDigest` that you accept. If the grants have another one now, 409.'),
  }),
  answers: { 200: answer },
}
export const REVOKE_GRANTS: RouteSchemas = {
  summary: 'Revokes the consent to the grants of a module, so that its tools wait again.',
  params: byModule,
  query: ofLayer,
  answers: { 200: answer },
}
