import { z } from 'zod'
import { count, grant, json, jsonObject, none, page, sha256 } from '../../http/answer-shapes.ts'
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
  grants: z.array(grant).exactOptional(),
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
  fault: fault.nullable().describe('The first record that is wrong, or null.'),
}) satisfies z.ZodType<TrailReport>

export const READ_AUDIT: RouteSchemas = {
  summary: 'Reads a page of records, the newest first: your own, or, for an admin, those of all users.',
  params: none,
  query: z.strictObject({
    tool: z.string().optional().describe('Only records of exactly this tool.'),
    outcome: z.string().optional().describe('Only records with this outcome: `ok`, or the code of an error.'),
    uid: z.string().optional().describe('Only records of this user. Only an admin may name another user.'),
    since: z.string().optional().describe('Only records from this time on: RFC 3339, or a day (UTC).'),
    until: z.string().optional().describe('Only records before this time: RFC 3339, or a day (UTC).'),
    ...page(100),
    cursor: z.string().optional().describe('Where the page begins: the `cursor` of the page before.'),
  }),
  headers: {
    Accept:
      '`application/x-ndjson`: one record on each line. For an admin without `tool`, `outcome`, `uid`, `limit` and `cursor`: whole days, chain by chain, and then the manifests.',
  },
  answers: {
    200: z.strictObject({ records: z.array(z.union([record, erased])), cursor: z.string().nullable() }),
  },
  lines: z.union([record, erased, manifest]),
}
export const VERIFY_AUDIT: RouteSchemas = {
  summary: 'Verifies the records of all users, and names the first that is wrong.',
  params: none,
  query: z.strictObject({
    day: day
      .optional()
      .describe('Only the records of this day (UTC), such as `2026-01-31`. Default: all days.'),
  }),
  answers: { 200: report.extend({ ok: z.boolean(), day: day.nullable() }) },
}
export const ERASE_AUDIT: RouteSchemas = {
  summary: 'Erases the contents of the records of one user. Their hashes stay.',
  params: none,
  query: z.strictObject({ uid: z.string().describe('The user.') }),
  answers: { 200: z.strictObject({ erased: count }) },
}
