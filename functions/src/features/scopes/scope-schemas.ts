import { z } from 'zod'
import { count, digest, none, time, toolName } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { PINNED_MAX, SCOPE_KINDS, type ScopeOwner, type ScopeVersion } from './kept-scope.ts'

const owner = z.strictObject({ kind: z.enum(SCOPE_KINDS), id: z.string() }) satisfies z.ZodType<ScopeOwner>
const content = { scope: z.string(), pinned: z.array(toolName).max(PINNED_MAX) }
const version = z.strictObject({
  ...content,
  version: z.int().positive(),
  digest,
  updatedAt: time,
}) satisfies z.ZodType<ScopeVersion>
const present = version.extend({ owner })
const byOwner = z.strictObject({ kind: z.string(), id: z.string() })
const written = present.extend({ unmatched: z.array(z.string()) })
const inScope = { total: count, tools: z.array(toolName) }

export const LIST_SCOPES: RouteSchemas = {
  params: none,
  query: none,
  answers: { 200: z.strictObject({ scopes: z.array(present) }) },
}
export const READ_SCOPE: RouteSchemas = { params: byOwner, query: none, answers: { 200: present } }
export const LIST_VERSIONS: RouteSchemas = {
  params: byOwner,
  query: none,
  answers: { 200: z.strictObject({ owner, versions: z.array(version) }) },
}
export const WRITE_SCOPE: RouteSchemas = {
  params: byOwner,
  query: none,
  body: z.strictObject({ scope: z.string(), pinned: z.array(z.string()).optional() }),
  answers: {
    200: written.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: written.extend({ outcome: z.literal('created') }),
  },
}
export const DELETE_SCOPE: RouteSchemas = {
  params: byOwner,
  query: none,
  answers: { 200: z.strictObject({ owner, outcome: z.literal('deleted'), digest }) },
}
export const RUN_COMMAND: RouteSchemas = {
  params: byOwner,
  query: none,
  body: z.strictObject({ text: z.string() }),
  answers: {
    200: z.union([
      written.extend({ outcome: z.enum(['created', 'updated', 'unchanged', 'shown']), ...inScope }),
      // Nothing is stored for the owner.
      z.strictObject({
        owner,
        outcome: z.literal('shown'),
        ...content,
        unmatched: z.tuple([]),
        ...inScope,
      }),
    ]),
  },
}
