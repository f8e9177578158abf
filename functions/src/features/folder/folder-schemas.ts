import { z } from 'zod'
import {
  byName,
  definition,
  digest,
  errorCode,
  json,
  jsonObject,
  none,
  sha256,
  specReport,
  time,
  toolName,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

const tool = z.strictObject({
  name: toolName,
  alias: z.string(),
  description: z.string(),
  file: z.string(),
  line: z.int().nullable(),
  digest,
  module: z.string(),
  sha256,
  files: z.array(z.string()).exactOptional(),
  category: z.string().nullable(),
  annotations: jsonObject.nullable(),
  limits: jsonObject.nullable(),
  network: z.array(z.string()),
  loadedAt: time,
})
const state = {
  folder: z
    .string()
    .nullable()
    .exactOptional()
    .describe('The path of the folder, only for admins. Null if no folder is watched.'),
  status: z
    .enum(['watched', 'polled', 'starting', 'missing', 'unreadable', 'none'])
    .describe(
      '`watched`; `polled`, if the system has no free file watch; `starting`, until it was read once; `missing`; `unreadable`, with its last content still in use; `none`.',
    ),
  reason: z.string().nullable().describe('The details of the status.'),
}
/** A file that was skipped, or one of its specs that was. It also has the fields of its fault. */
const skipped = z
  .object({
    file: z.string(),
    reason: errorCode,
    kind: z.string().exactOptional(),
    line: z.int().nullable().exactOptional(),
    message: z.string().exactOptional(),
    name: z.string().nullable().exactOptional(),
    /** Only for admins. */
    traceback: z.string().exactOptional(),
    serving: sha256.nullable().describe('The older content that stays in use, or null.'),
  })
  .catchall(json)
const folder = z.strictObject({
  ...state,
  others: z
    .array(
      z.strictObject({
        folder: z.string().nullable().exactOptional(),
        status: state.status,
        reason: state.reason,
      }),
    )
    .exactOptional()
    .describe('Further folders, if there are several.'),
  checking: z
    .array(z.strictObject({ file: z.string(), reason: z.string().nullable() }))
    .describe(
      'Files that are not checked yet. `reason` says why the runner cannot check any file, or is null.',
    ),
  skipped: z
    .array(skipped)
    .describe(
      'Files that are left out, or with a `name` one spec. `reason` is a code; `kind`, `message` and `line` are as in a refused upload.',
    ),
})
const names = z.array(toolName)

export const READ_FOLDER: RouteSchemas = {
  summary: 'Lists the tools of the watched folder of modules, and what is left out and why.',
  params: none,
  query: none,
  answers: { 200: folder.extend({ tools: z.array(tool) }) },
}
export const REFRESH_FOLDER: RouteSchemas = {
  summary: 'Reads the folder again, and waits until everything is checked, at most 30 seconds.',
  params: none,
  query: none,
  answers: {
    200: folder.extend({
      tools: z.strictObject({ added: names, changed: names, removed: names, unchanged: names }),
    }),
  },
}
export const READ_FOLDER_TOOL: RouteSchemas = {
  summary:
    'Reads one tool of the folder with its definition, or answers with a 404 that says why it is left out.',
  params: byName('The name or alias of the tool.'),
  query: none,
  answers: { 200: tool.extend({ definition, report: specReport.nullable().exactOptional() }) },
}
