import { z } from 'zod'
import { count, json, jsonObject, none, page, sha256 } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import type { Manifest } from './manifest.ts'
import { AUDIT_KINDS, type ChainHead } from './record.ts'
import type { TrailFault, TrailReport } from './verify-trail.ts'

const day = z.iso.date()
const place = { instance: z.string().min(1), day, seq: z.int().positive() }
const text = z.string().nullable()

const record = z.strictObject({
  ...place,
  prev: z.string(),
  hash: sha256,
  at: z.iso.datetime(),
  kind: z.enum(AUDIT_KINDS),
  phase: z.enum(['start', 'end']),
  outcome: z.string(),
  principal: z.strictObject({
    kind: z.enum(['user', 'job', 'service']),
    uid: z.string(),
    token: z.string().exactOptional(),
  }),
  approval: text,
  agent: text,
  session: text,
  workflow: text,
  tool: text,
  layer: text,
  digest: text,
  revision: text,
  rule: json,
  decision: text,
  arguments: json,
  argumentsHash: text,
  durationMs: z.number().nullable(),
  usage: json,
  isolation: text,
  invocationId: text,
  parentInvocationId: text,
  traceparent: text,
  dryRun: z.literal(true).exactOptional(),
  reported: z.literal(true).exactOptional(),
  replayed: z.literal(true).exactOptional(),
  lost: z.literal(true).exactOptional(),
  subject: jsonObject.exactOptional(),
  lostBefore: z.int().positive().exactOptional(),
})
/** What is left of a record whose content was erased. */
const erased = z.strictObject({ ...place, prev: z.string(), hash: sha256, erased: z.literal(true) })
const manifest = z.strictObject({
  day,
  prev: z.string().nullable(),
  chains: z.array(z.strictObject({ instance: z.string(), records: count, head: sha256 })),
  publicKey: z.string(),
  signature: z.string(),
}) satisfies z.ZodType<Manifest>

const head = z.strictObject({ ...place, hash: sha256 }) satisfies z.ZodType<ChainHead>
const fault = z.strictObject({
  line: count,
  place: z.string(),
  reason: z.string(),
}) satisfies z.ZodType<TrailFault>
const report = z.strictObject({
  records: count,
  erased: count,
  heads: z.array(head),
  manifests: count,
  manifestHead: z.string().nullable(),
  publicKey: z.string().nullable(),
  fault: fault.nullable(),
}) satisfies z.ZodType<TrailReport>

export const READ_AUDIT: RouteSchemas = {
  params: none,
  query: z.strictObject({
    tool: z.string().optional(),
    outcome: z.string().optional(),
    uid: z.string().optional(),
    since: z.string().optional(),
    until: z.string().optional(),
    ...page,
  }),
  answers: {
    200: z.strictObject({ records: z.array(z.union([record, erased])), cursor: z.string().nullable() }),
  },
  lines: z.union([record, erased, manifest]),
}
export const VERIFY_AUDIT: RouteSchemas = {
  params: none,
  query: z.strictObject({ day: day.optional() }),
  answers: { 200: report.extend({ ok: z.boolean(), day: day.nullable() }) },
}
export const ERASE_AUDIT: RouteSchemas = {
  params: none,
  query: z.strictObject({ uid: z.string() }),
  answers: { 200: z.strictObject({ erased: count }) },
}
