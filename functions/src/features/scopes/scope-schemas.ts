import { z } from 'zod'
import { count, digest, none, precondition, time, toolName, unlessSame } from '../../http/answer-shapes.ts'
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
const byOwner = z.strictObject({
  kind: z.enum(SCOPE_KINDS).describe('The kind of the owner.'),
  id: z
    .string()
    .describe('The id of the owner: 1 to 256 printable ASCII characters without blanks, not a dot first.'),
})
const written = present.extend({
  unmatched: z.array(z.string()).describe('The items of the scope that match no tool now.'),
})
const inScope = {
  total: count.describe('The number of tools in the scope.'),
  tools: z.array(toolName).describe('The names of the first 1,000 of them.'),
}

export const LIST_SCOPES: RouteSchemas = {
  summary: 'Lists all stored scopes of the user.',
  params: none,
  query: none,
  answers: { 200: z.strictObject({ scopes: z.array(present) }) },
}
export const READ_SCOPE: RouteSchemas = {
  summary: 'Reads the stored scope of one owner.',
  params: byOwner,
  query: none,
  headers: unlessSame,
  answers: { 200: present },
}
export const LIST_VERSIONS: RouteSchemas = {
  summary: 'Lists the last 20 versions of the scope of one owner, the newest first.',
  params: byOwner,
  query: none,
  headers: unlessSame,
  answers: { 200: z.strictObject({ owner, versions: z.array(version) }) },
}
export const WRITE_SCOPE: RouteSchemas = {
  summary: 'Creates or replaces the stored scope of one owner.',
  params: byOwner,
  query: none,
  headers: precondition,
  body: z.strictObject({
    scope: z.string().describe('The scope, such as `@web,!web_post`: at most 50 items and 1,000 characters.'),
    pinned: z
      .array(z.string())
      .optional()
      .describe(
        `Names of at most ${PINNED_MAX} tools that stay in the list whatever the scopes say. Default: none.`,
      ),
  }),
  answers: {
    200: written.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: written.extend({ outcome: z.literal('created') }),
  },
}
export const DELETE_SCOPE: RouteSchemas = {
  summary: 'Deletes the stored scope of one owner with its versions.',
  params: byOwner,
  query: none,
  headers: precondition,
  answers: { 200: z.strictObject({ owner, outcome: z.literal('deleted'), digest }) },
}
export const RUN_COMMAND: RouteSchemas = {
  summary: 'Changes or shows a stored scope by what a person writes in a chat, such as `/tools off`.',
  params: byOwner,
  query: none,
  headers: precondition,
  body: z.strictObject({
    text: z
      .string()
      .describe(
        '`/tools`, `/tools list`, `/tools on`, `/tools off`, `/tools internal` or `/tools CATEGORY`.',
      ),
  }),
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
