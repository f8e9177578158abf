import { z } from 'zod'
import { byId, count, none, nothing, page, sha256, time, unlessSame, uuid } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import type { Artifact } from './artifact.ts'

const artifact = z.strictObject({
  id: uuid,
  bytes: count,
  sha256,
  type: z.string(),
  name: z.string(),
  createdAt: time,
  expiresAt: time,
  invocationId: uuid.nullable(),
  tool: z.string().nullable(),
}) satisfies z.ZodType<Artifact>

const byArtifact = byId('The `id` of the artifact.')
const ranges = {
  ...unlessSame,
  Range: 'A part: `bytes=0-1023`, `bytes=1024-` or `bytes=-1024`. Several parts are ignored.',
  'If-Range':
    'The entity tag of an earlier answer. If it is another one now, the answer is the whole artifact.',
}
const answerHeaders = {
  'Content-Disposition':
    '`inline` for PNG, JPEG, GIF, WebP and plain text. All others are sent as bytes, `attachment`.',
  'Content-Range': 'With a 206: which part it is, and how many bytes there are.',
}
/** The query of a link. Programs that pass on links add parameters of their own. */
const ignored = z.object({})
const content = z.string()
const parts = { 200: content, 206: content, 304: nothing, 416: nothing }

export const UPLOAD: RouteSchemas = {
  summary: 'Keeps a file for 7 days.',
  params: none,
  query: none,
  headers: {
    'Content-Type': 'The type of the file. Default: `application/octet-stream`.',
    'X-Name': 'The name of the file, percent-encoded. Default: `artifact`.',
  },
  body: z
    .string()
    .describe('The bytes of the file, at most 100 MB, or none. Without `Content-Length`, at most 8 MB.'),
  answers: { 201: artifact },
}
export const LIST: RouteSchemas = {
  summary: 'Lists your artifacts, the oldest first.',
  params: none,
  query: z.strictObject(page(100)),
  answers: { 200: z.strictObject({ items: z.array(artifact), cursor: z.string().nullable() }) },
}
export const READ: RouteSchemas = {
  summary: 'Reads an artifact, or a part of it.',
  params: byArtifact,
  query: none,
  headers: ranges,
  answerHeaders,
  answers: parts,
}
export const DELETE: RouteSchemas = {
  summary: 'Deletes an artifact.',
  params: byArtifact,
  query: none,
  answers: { 204: nothing },
}
export const LINK: RouteSchemas = {
  summary: 'Makes a link that reads an artifact for 10 minutes, without a token.',
  params: byArtifact,
  query: none,
  answers: { 200: z.strictObject({ url: z.string(), expiresAt: time }) },
}
export const READ_LINKED: RouteSchemas = {
  summary: 'Reads an artifact by its link, or a part of it.',
  params: z.strictObject({ sealed: z.string().describe('The end of the link.') }),
  query: ignored,
  headers: ranges,
  answerHeaders,
  answers: parts,
}
