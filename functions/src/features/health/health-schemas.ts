import { z } from 'zod'
import type { QueueState } from '../../fair-queue.ts'
import type { SeenDelay } from '../../loop-watch.ts'
import { ISOLATION_LEVELS, type RunnerHealth } from '../../catalog/definitions/runner.ts'
import { count, none, revision, skippedItem, time } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { AUDIT_MODES } from '../audit/audit-trail.ts'
import type { PublicHealth } from './health-route.ts'

const head = z.strictObject({
  status: z
    .enum(['ok', 'degraded'])
    .describe(
      '`degraded` if the global or the file layer or the rules cannot be read, or if a runner should exist and cannot be reached.',
    ),
  version: z.string(),
  isolation: z
    .enum(ISOLATION_LEVELS)
    .describe('The level that the runner has measured, and `L0` without a runner.'),
}) satisfies z.ZodType<PublicHealth>

const queue = z.strictObject({
  places: count,
  running: count,
  waiting: count,
  usersWaiting: count,
  longestWaitMs: z.number(),
}) satisfies z.ZodType<QueueState>
const freshness = z.enum(['fresh', 'stale', 'error'])
const layerHealth = z.strictObject({
  status: freshness,
  definitions: count,
  revision: revision.nullable(),
  skipped: z.array(skippedItem),
})
const runner = z.union([
  z.looseObject({ status: z.literal('ready'), isolation: z.enum(ISOLATION_LEVELS) }),
  z.strictObject({ status: z.enum(['starting', 'absent', 'unreachable']), reason: z.string() }),
]) satisfies z.ZodType<RunnerHealth>
const fault = z.strictObject({ day: z.string(), place: z.string(), reason: z.string() })
const audit = z.union([
  z.strictObject({ mode: z.literal('off') }),
  z.strictObject({
    mode: z.enum(AUDIT_MODES),
    signed: z.boolean(),
    lost: count,
    waiting: count,
    fault: fault
      .nullable()
      .exactOptional()
      .describe('The first record that does not verify, or null. Only for admins.'),
  }),
])
const delay = z.strictObject({
  at: time,
  ms: z.number(),
  ranMs: z.number(),
  processorMs: z.number(),
  route: z.string().exactOptional(),
  uid: z.string().exactOptional(),
  part: z.string().exactOptional(),
}) satisfies z.ZodType<SeenDelay>

/** Missing on a service without the feature. */
const counts = z.record(z.string(), z.number()).exactOptional()

const known = head.extend({
  revision,
  layers: z.strictObject({ user: layerHealth, global: layerHealth, file: layerHealth }),
  rules: freshness.describe('`fresh`, `stale` for the last good ones, or `error` if they are not known.'),
  agents: z
    .strictObject({ inFiles: count, skipped: z.array(skippedItem) })
    .describe('Agents in files, and what was skipped.'),
  queues: z
    .strictObject({
      schemas: queue,
      arguments: queue,
      bodies: queue.extend({ bytes: count, bytesMax: z.number() }),
      answers: z.strictObject({ bytes: count, users: count, bytesMaxPerUser: z.number() }),
    })
    .describe(
      'Checks of schemas and of arguments, and parses of large bodies: at most `places` run at once, `waiting` wait for `usersWaiting` users, and the oldest waits for `longestWaitMs`. `bytes` are those of all large bodies, or of all unread answers, now.',
    ),
  runner,
  audit,
  statistics: z
    .strictObject({ waiting: count, failingSince: time.nullable() })
    .exactOptional()
    .describe(
      'Parts of the statistics that are not in the store yet, and since when they cannot be written. Only for admins.',
    ),
  circuits: counts.describe('How many circuits of tools are open. Only for admins.'),
  limits: counts.describe('Numbers of the limits of calls. Only for admins.'),
  artifacts: counts.describe('Numbers of the kept artifacts. Only for admins.'),
  delays: z
    .array(delay)
    .exactOptional()
    .describe(
      'The last delays of the event loop above 200 ms, the newest first. Only for admins. `route` and `uid` are those of the request whose work ran longest meanwhile, for `ranMs`. Work of the service itself has a `part`. If `processorMs` is much less than `ms`, the service has waited, for example for a disk.',
    ),
})

/** The query of the routes in this file. They ignore all parameters, while most routes refuse unknown ones. */
const ignored = z.looseObject({})

export const HEALTH: RouteSchemas = {
  summary: 'Answers whether the service works. With a token, it says more.',
  params: none,
  query: ignored,
  answers: { 200: z.union([head, known]) },
}
/** The front page: HTML for browsers, or plain text. */
export const FRONT_PAGE: RouteSchemas = {
  summary: 'Shows people what this service is, whether it works, and where the documents are.',
  params: none,
  query: ignored,
  headers: { Accept: '`text/html`: a page. Default: a text.' },
  answers: { 200: z.string().min(1) },
}
