import { z } from 'zod'
import type { ModuleSummary } from '../../catalog/definitions/module-store.ts'
import {
  byName,
  count,
  digest,
  errorAnswer,
  grant,
  layer,
  moduleNote,
  none,
  page,
  precondition,
  revision,
  sha256,
  specReport,
  time,
  toolName,
  unlessSame,
  writtenLayer,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

const names = z.array(toolName)
const report = z.strictObject({
  imports: z.array(z.string()),
  notes: z.array(moduleNote),
  log: z.string(),
  shortened: z
    .literal(true)
    .exactOptional()
    .describe('The report was above 256 KB, and the results of the examples are left out.'),
  packages: z
    .strictObject({
      digest: digest.describe('The digest of the lock.'),
      requirements: z.array(z.string()).describe('What the module asks for.'),
      packages: z.array(
        z.strictObject({
          name: z.string(),
          version: z.string(),
          bytes: count.nullable().describe('The size of the wheel. Null if the index does not say it.'),
        }),
      ),
    })
    .exactOptional()
    .describe('The packages that the module gets, with those that they need. Missing if it asks for none.'),
  specs: z
    .array(specReport)
    .describe(
      'Each spec in order. A refused one has `accepted: false` and its `faults`, each with a `kind`, a `line` and a sentence with the cure. The others load.',
    ),
})

const grants = z
  .array(grant)
  .describe('What the module asks for: hosts of `network`, requirements of `packages`, names of `secrets`.')
const environment = digest.describe(
  'The digest of the lock of its packages. Missing if it has none of its own.',
)

const summary = z.strictObject({
  name: z.string(),
  sha256,
  environment: environment.exactOptional(),
  tools: names,
  revision,
  updatedAt: time,
  updatedBy: z.string(),
  grants: grants.exactOptional(),
  grantsDigest: digest.exactOptional(),
  consent: z
    .strictObject({ digest, by: z.string(), at: time, isRevoked: z.boolean().exactOptional() })
    .nullable()
    .exactOptional()
    .describe(
      'Who has accepted the grants with this digest, or has revoked the consent (`isRevoked`), and when. Null if nobody has decided.',
    ),
  created: z
    .string()
    .exactOptional()
    .describe('A random id of the creation. A module that is written after a deletion has another one.'),
}) satisfies z.ZodType<ModuleSummary>
const module = summary.extend({ layer: writtenLayer, report })
const written = z.strictObject({
  name: z.string(),
  layer: writtenLayer,
  outcome: z.enum(['created', 'updated', 'unchanged']),
  sha256,
  environment: environment.exactOptional(),
  revision,
  tools: z
    .strictObject({ added: names, changed: names, removed: names, unchanged: names })
    .describe("What became of the module's tools."),
  shadows: z
    .array(z.strictObject({ name: toolName, layer, digest }))
    .describe('The definitions of lower layers that those of the module now replace in the list.'),
  report,
  grants,
  grantsDigest: digest,
  pending: z.boolean().describe('True if the tools wait until somebody accepts the grants.'),
  message: z.string().exactOptional().describe('If they wait: who can accept the grants, and how.'),
})
const ofLayer = z.strictObject({
  layer: writtenLayer.optional().describe('The layer. Default: `user`.'),
})
const checked = ofLayer.extend({
  acceptGrants: z
    .string()
    .optional()
    .describe(
      'The `grantsDigest` that you accept. Needs a token that may decide approvals. If the module asks for other grants, 409, and nothing is written.',
    ),
  relock: z
    .enum(['0', '1', 'false', 'true'])
    .optional()
    .describe(
      'With `1`, the packages are resolved anew. Otherwise the same content keeps the versions that it has. Default: `0`.',
    ),
})
const byModule = byName('The name of the module.')

export const LIST_MODULES: RouteSchemas = {
  summary: 'Lists the Python modules of one layer, by name.',
  params: none,
  query: ofLayer.extend(page(1_000)),
  answers: { 200: z.strictObject({ layer: writtenLayer, items: z.array(summary) }) },
}
export const READ_MODULE: RouteSchemas = {
  summary: 'Reads one module with its source or files, and the report of its check.',
  params: byModule,
  query: ofLayer,
  headers: unlessSame,
  answerHeaders: {
    ETag: 'Begins with the `sha256`, which alone is valid for `If-Match` too. Changes also with the packages and the consent.',
  },
  answers: {
    200: z.union([
      module.extend({ source: z.string() }),
      module.extend({ files: z.record(z.string(), z.string()) }),
    ]),
  },
}
export const WRITE_MODULE: RouteSchemas = {
  summary:
    'Uploads a module. Its tools are in the list at once, unless they wait for consent to what they ask for.',
  params: byModule,
  query: checked,
  headers: {
    Accept:
      '`text/event-stream`: a stream of events, of which the last is the answer. Default: JSON. Behind Hosting, a client that takes only a stream gets a 406. Hosting and Cloud Functions end a request after 60 seconds. If packages take longer, upload the module again: those that are installed by then are not installed twice.',
    'Content-Type':
      '`application/json` for a body with `source` or `files`. Without this header, with `text/…` or `application/octet-stream`, the body is the Python file itself.',
    ...precondition,
  },
  body: z
    .union([
      z.string(),
      z.strictObject({ source: z.string().describe('The text of the Python file, at most 256 KB.') }),
      z.strictObject({
        files: z
          .record(z.string(), z.string())
          .describe(
            'A path and a text for each file of a module of several files, one of them `__init__.py`. At most 64 files, 512 KB together.',
          ),
      }),
    ])
    .describe('The Python file itself, or JSON with one of the two fields. JSON may have 1 MB.'),
  answers: {
    200: written.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: written.extend({ outcome: z.literal('created') }),
  },
  events: {
    progress: z
      .strictObject({ text: z.string() })
      .describe('What is done now, at least once a second. A slow reader gets only some of these.'),
    result: written
      .extend({ status: z.literal([200, 201]) })
      .describe('Last, if the module was accepted: the answer, and its status.'),
    error: errorAnswer.describe(
      'Last, if the upload was refused: the body of the answer, with its status as `code`. Nothing was written.',
    ),
  },
}
export const DELETE_MODULE: RouteSchemas = {
  summary: 'Deletes one module with all of its tools. Its versions stay.',
  params: byModule,
  query: ofLayer,
  headers: precondition,
  answers: {
    200: written
      .omit({
        report: true,
        environment: true,
        grants: true,
        grantsDigest: true,
        pending: true,
        message: true,
      })
      .extend({ outcome: z.literal('deleted') }),
  },
}
export const LIST_VERSIONS: RouteSchemas = {
  summary: 'Lists the last 50 versions of a module, the newest first.',
  params: byModule,
  query: ofLayer,
  answers: {
    200: z.strictObject({
      name: z.string(),
      layer: writtenLayer,
      items: z.array(
        z.strictObject({
          revision,
          at: time,
          by: z.string(),
          deleted: z.boolean(),
          sha256: sha256.exactOptional(),
          environment: environment.exactOptional(),
          tools: names,
        }),
      ),
    }),
  },
}
export const ROLL_BACK: RouteSchemas = {
  summary: 'Checks the content of an older version again, and makes it the current one.',
  params: byModule,
  query: checked,
  headers: precondition,
  body: z
    .union([
      z.strictObject({ sha256: z.string().describe('The `sha256` of the version.') }),
      z.strictObject({ revision: z.string().describe('The `revision` of the version.') }),
    ])
    .describe('Which version, by one of the two fields.'),
  answers: { 200: written },
}
