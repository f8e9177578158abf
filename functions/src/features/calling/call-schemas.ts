import { CALL_FORMATS, ERROR_CODES, type CallFormatName } from '@toolrack/contract'
import { z } from 'zod'
import { APPROVAL_STATES } from '../approvals/approval.ts'
import {
  count,
  decision,
  digest,
  errorCode,
  flag,
  invocationMeta,
  json,
  jsonObject,
  layer,
  none,
  owner,
  time,
  toolClass,
  uuid,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import type { DryRun } from './dry-run.ts'
import type { Simulation } from './simulate.ts'

const success = z.strictObject({
  resultType: z.literal('success'),
  textResultForLlm: z.string(),
  data: json.exactOptional(),
  meta: invocationMeta,
})
const failure = z.strictObject({
  resultType: z.literal('failure'),
  textResultForLlm: z.string(),
  error: z.string(),
  code: errorCode,
  meta: invocationMeta,
})
const result = z.discriminatedUnion('resultType', [success, failure])

const foreseen = z.strictObject({ id: uuid, status: z.enum(APPROVAL_STATES) })
const dryRun = z.strictObject({
  decision: z.enum(['allow', 'ask', 'deny']),
  rule: z.int().nullable(),
  owner: owner.nullable(),
  reason: z.string(),
  effects: z.array(toolClass),
  limits: z.object({ timeoutSeconds: z.number().exactOptional() }).catchall(json),
  approval: foreseen.exactOptional(),
}) satisfies z.ZodType<DryRun>

/** A failed call is answered with its result, whatever the status is. */
const failures = Object.fromEntries(
  Object.values(ERROR_CODES)
    .filter(({ httpStatus }) => httpStatus !== 200)
    .map(({ httpStatus }) => [httpStatus, failure]),
)

const sentSession = z.strictObject({ session: z.string().optional() })

export const INVOKE: RouteSchemas = {
  params: none,
  query: sentSession.extend({ dryRun: flag.optional() }),
  body: z.strictObject({
    name: z.string(),
    arguments: jsonObject.optional(),
    context: jsonObject.optional(),
    expectedDigest: digest.optional(),
    approval: z.string().optional(),
  }),
  answers: { ...failures, 200: z.union([result, dryRun]) },
  events: {
    start: z.strictObject({ invocationId: uuid }),
    log: z.strictObject({ text: z.string() }),
    progress: z.strictObject({ fraction: z.number().min(0).max(1), text: z.string() }),
    value: z.strictObject({ value: json }),
    result,
  },
}

const format = z.enum(CALL_FORMATS.map(({ name }) => name)) satisfies z.ZodType<CallFormatName>
/** The messages have the shape of the vendor whose calls they answer. */
const messages = z.array(jsonObject)
const identity = { index: count, id: z.string().nullable(), name: z.string() }
/** The calls as a model wrote them: a list, or the message that contains them. */
const calls = z.union([z.array(json), jsonObject])

export const DISPATCH: RouteSchemas = {
  params: none,
  query: sentSession,
  body: calls,
  answers: {
    200: z.strictObject({
      format,
      messages,
      results: z.array(z.strictObject({ ...identity, result: result.nullable() })),
      pending: z.array(
        z.strictObject({
          ...identity,
          layer,
          kind: z.enum(['client', 'workflow', 'approval']),
          workflowName: z.string().exactOptional(),
          approval: z.strictObject({ id: uuid, expiresAt: time }).exactOptional(),
          arguments: jsonObject,
          call: jsonObject,
        }),
      ),
    }),
  },
}
export const COMPLETE: RouteSchemas = {
  params: none,
  query: none,
  body: z.strictObject({
    format,
    calls,
    results: z.array(z.looseObject({ index: count, id: z.string().nullish(), result: json })).optional(),
  }),
  answers: { 200: z.strictObject({ format, messages }) },
}

export const SIMULATE: RouteSchemas = {
  params: none,
  query: sentSession,
  body: z.strictObject({
    name: z.string(),
    arguments: jsonObject.optional(),
    approval: z.string().optional(),
    as: z
      .strictObject({
        uid: z.string().optional(),
        workflow: z.string().optional(),
        session: z.string().optional(),
        agent: z.string().optional(),
      })
      .optional(),
  }),
  answers: {
    200: decision.extend({
      name: z.string(),
      classes: z.array(toolClass),
      listed: z.boolean(),
      approval: foreseen.nullable(),
      code: errorCode.nullable(),
      message: z.string().nullable(),
    }) satisfies z.ZodType<Simulation>,
  },
}
