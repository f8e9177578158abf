import {
  ERROR_CODES,
  GRANT_KINDS,
  isToolName,
  LAYERS,
  OWNER_KINDS,
  RULE_EFFECTS,
  RUNNER_KINDS,
  TOOL_CLASSES,
  type Digest,
  type ErrorBody,
  type ErrorCode,
  type Grant,
  type InvocationMeta,
  type JsonObject,
  type ResourceUsage,
  type Rule,
  type RuleDecision,
  type RuleOwner,
  type ToolDefinition,
} from '@toolrack/contract'
import { z } from 'zod'

/** Schemas that several features share. Only files of schemas import this file, because it loads zod. */

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
export const digest = z.templateLiteral(['sha256:', sha256]) satisfies z.ZodType<Digest>
/** A revision is a text that callers can only compare. Equal revisions mean equal contents. */
export const revision = z.string().min(1)
/** ISO 8601, UTC. */
export const time = z.iso.datetime()
export const uuid = z.string().regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
export const count = z.int().nonnegative()
export const toolName = z.string().refine(isToolName)
export const layer = z.enum(LAYERS)
export const writtenLayer = z.enum(['user', 'global'])
export const json = z.json()
export const jsonObject = z.record(z.string(), json) satisfies z.ZodType<JsonObject>
export const errorCode = z.enum(Object.keys(ERROR_CODES) as ErrorCode[])
export const toolClass = z.enum(TOOL_CLASSES)
export const grant = z.strictObject({
  kind: z.enum(GRANT_KINDS),
  value: z.string(),
}) satisfies z.ZodType<Grant>

/** The schema of an answer without a body. */
export const nothing = z.literal('')

/** The schema of the path or of the query of a route that takes no parameters there. */
export const none = z.strictObject({})
export function byName(what: string) {
  return z.strictObject({ name: z.string().describe(what) })
}
export function byId(what: string) {
  return z.strictObject({ id: z.string().describe(what) })
}

/** The schema of a parameter that may be given several times. */
export const several = z.union([z.string(), z.array(z.string())])
export const flag = z.enum(['0', '1', 'false', 'true'])
/** A whole number as the text of a parameter. The reference of the routes shows it as a number. */
export function whole(min: number, max: number) {
  const number = z.string().regex(/^\d{1,15}$/)
  return number
    .refine((text) => Number(text) >= min && Number(text) <= max)
    .meta({ type: 'integer', minimum: min, maximum: max })
}
/** The parameters of a route that answers in pages. A page has at most `size` items if the query has no `limit`. */
export function page(size: number, max = 1_000) {
  return {
    limit: whole(1, max)
      .optional()
      .describe(`The most items of a page. Default: ${size.toLocaleString('en')}.`),
    cursor: z
      .string()
      .optional()
      .describe('Where the page begins: as in the `Link` header of the page before.'),
  }
}

/** The headers of a write that can have a precondition. */
export const precondition = {
  'If-Match':
    'Write only if the present entity tag is one of these, or, with `*`, if there is a present one. Otherwise: 412.',
  'If-None-Match':
    'Write only if the present entity tag is none of these, or, with `*`, if there is no present one. Otherwise: 412.',
}
/** The header of a read whose answer has an entity tag. */
export const unlessSame = {
  'If-None-Match':
    'The entity tag of an earlier answer. If it is still the same, the answer is a 304 without a body.',
}
export const owner = z.strictObject({
  kind: z.enum(OWNER_KINDS),
  id: z.string().min(1),
}) satisfies z.ZodType<RuleOwner>

export const decision = z.strictObject({
  effect: z.enum(RULE_EFFECTS),
  owner: owner.nullable(),
  rule: count.nullable(),
  reason: z.string(),
}) satisfies z.ZodType<RuleDecision>

const toolRule = z.strictObject({
  effect: z.enum(RULE_EFFECTS),
  tool: z.string(),
  class: toolClass.exactOptional(),
  args: z.record(z.string(), z.string()).exactOptional(),
  future: z.boolean().exactOptional(),
})
const grantRule = z.strictObject({
  effect: z.enum(RULE_EFFECTS),
  grant: z.enum(GRANT_KINDS),
  value: z.string(),
  future: z.boolean().exactOptional(),
})
export const rule = z.union([toolRule, grantRule]) satisfies z.ZodType<Rule>

export const usage = z.strictObject({
  wallMs: z.number(),
  cpuMs: z.number(),
  maxRssBytes: count,
}) satisfies z.ZodType<ResourceUsage>

export const definition = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({ name: toolName, description: z.string(), parameters: jsonObject }),
  runner: z
    .object({ kind: z.enum(RUNNER_KINDS), workflowName: z.string().exactOptional() })
    .catchall(json)
    .exactOptional(),
  category: z.string().exactOptional(),
  tags: z.array(z.string()).exactOptional(),
  annotations: jsonObject.exactOptional(),
  limits: z.object({ timeoutSeconds: z.number().exactOptional() }).catchall(json).exactOptional(),
  sealed: z.boolean().exactOptional(),
}) satisfies z.ZodType<ToolDefinition>

/** The facts about one call in its answer. */
export const invocationMeta = z.strictObject({
  invocationId: uuid,
  tool: z.string().nullable(),
  digest: digest.nullable(),
  revision: revision.nullable(),
  isolation: z.string().nullable(),
  executionTimeMs: z.number(),
  resourceUsage: usage.nullable(),
  replayed: z.boolean(),
  reused: z
    .int()
    .exactOptional()
    .describe('How many calls the process had served before. Missing if it had served none.'),
  artifact: z.string().exactOptional().describe('The artifact that has the whole text of the result.'),
  attempts: count.exactOptional().describe('How often the tool was called. Missing if it was called once.'),
  fallbackFor: toolName
    .exactOptional()
    .describe('The tool that has failed, and whose place this one has taken.'),
  degraded: z.boolean().exactOptional().describe('True if the result is only a part of what was asked.'),
  approval: z.strictObject({ id: uuid, expiresAt: time }).exactOptional(),
  consent: z
    .strictObject({ of: z.enum(['module', 'caller']), module: z.string(), layer, grantsDigest: digest })
    .exactOptional()
    .describe(
      'With `GRANTS_PENDING`: the digest that a person must accept. `of` is `module` for the grants of the module, and `caller` for secrets of the caller.',
    ),
  decision: decision.exactOptional(),
  grants: z.array(grant).exactOptional().describe('What the tool was granted. Missing if nothing has run.'),
}) satisfies z.ZodType<InvocationMeta>

/** A definition of a tool in one of the layers. */
export const shadow = z.strictObject({ layer, digest })
export const skippedItem = z.strictObject({
  source: z.string(),
  pointer: z.string(),
  message: z.string(),
  name: z.string().exactOptional(),
})
export const normalisation = z.strictObject({ pointer: z.string(), from: json, to: json })
export const unenforced = z.strictObject({ pointer: z.string(), reason: z.string() })

/** A note or a fault of a module or of one of its specs. */
export const moduleNote = z.strictObject({
  kind: z.string(),
  message: z.string(),
  line: z.int().exactOptional(),
})
const moduleFault = moduleNote.extend({
  code: errorCode,
  traceback: z.string().exactOptional(),
  pointer: z.string().exactOptional(),
})
/** Fields that only an accepted spec has. In a shortened report, only `digest` is left of them. */
const accepted = {
  digest: digest.exactOptional(),
  derived: z.array(z.string()).exactOptional(),
  normalised: z.array(normalisation).exactOptional(),
  unenforced: z.array(unenforced).exactOptional(),
  secrets: z.array(z.string()).exactOptional(),
  network: z.array(z.string()).exactOptional(),
}
/** One spec of a module in the report of its check. */
export const specReport = z.strictObject({
  name: z.string().nullable(),
  line: z.int().nullable(),
  file: z.string().exactOptional(),
  accepted: z.boolean(),
  ...accepted,
  faults: z.array(moduleFault),
  notes: z.array(moduleNote),
  examples: z.array(
    z.object({ index: z.int(), outcome: z.string(), matched: z.boolean().nullable() }).catchall(json),
  ),
})
/** The body of every error. */
export const errorAnswer = z
  .strictObject({
    error: z.strictObject({
      code: z.int(),
      status: z.string(),
      message: z.string().min(1),
      details: z.array(z.object({ reason: errorCode }).catchall(json)).min(1),
    }),
  })
  .refine(({ error }) => hasCode(error), 'no error code has this status') satisfies z.ZodType<ErrorBody>

function hasCode({ code, status }: ErrorBody['error']): boolean {
  return Object.values(ERROR_CODES).some((kind) => kind.httpStatus === code && kind.status === status)
}

/** The body of an error on those routes that the original service, which Toolrack replaces, has too. */
export const originalErrorAnswer = z.strictObject({ error: z.string().min(1) })
