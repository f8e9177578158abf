import { z } from 'zod'
import type { ModuleSummary } from '../../catalog/definitions/module-store.ts'
import {
  byName,
  digest,
  layer,
  moduleNote,
  none,
  page,
  revision,
  sha256,
  specReport,
  time,
  toolName,
  writtenLayer,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

const names = z.array(toolName)
const report = z.strictObject({
  imports: z.array(z.string()),
  notes: z.array(moduleNote),
  log: z.string(),
  shortened: z.literal(true).exactOptional(),
  specs: z.array(specReport),
})

const summary = z.strictObject({
  name: z.string(),
  sha256,
  tools: names,
  revision,
  updatedAt: time,
  updatedBy: z.string(),
}) satisfies z.ZodType<ModuleSummary>
const module = summary.extend({ layer: writtenLayer, report })
const written = z.strictObject({
  name: z.string(),
  layer: writtenLayer,
  outcome: z.enum(['created', 'updated', 'unchanged']),
  sha256,
  revision,
  tools: z.strictObject({ added: names, changed: names, removed: names, unchanged: names }),
  shadows: z.array(z.strictObject({ name: toolName, layer, digest })),
  report,
})
const ofLayer = z.strictObject({ layer: writtenLayer.optional() })

export const LIST_MODULES: RouteSchemas = {
  params: none,
  query: ofLayer.extend(page),
  answers: { 200: z.strictObject({ layer: writtenLayer, items: z.array(summary) }) },
}
export const READ_MODULE: RouteSchemas = {
  params: byName,
  query: ofLayer,
  answers: {
    200: z.union([
      module.extend({ source: z.string() }),
      module.extend({ files: z.record(z.string(), z.string()) }),
    ]),
  },
}
export const WRITE_MODULE: RouteSchemas = {
  params: byName,
  query: ofLayer,
  body: z.union([
    z.string(),
    z.strictObject({ source: z.string() }),
    z.strictObject({ files: z.record(z.string(), z.string()) }),
  ]),
  answers: {
    200: written.extend({ outcome: z.enum(['updated', 'unchanged']) }),
    201: written.extend({ outcome: z.literal('created') }),
  },
}
export const DELETE_MODULE: RouteSchemas = {
  params: byName,
  query: ofLayer,
  answers: { 200: written.omit({ report: true }).extend({ outcome: z.literal('deleted') }) },
}
export const LIST_VERSIONS: RouteSchemas = {
  params: byName,
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
          tools: names,
        }),
      ),
    }),
  },
}
export const ROLL_BACK: RouteSchemas = {
  params: byName,
  query: ofLayer,
  body: z.union([z.strictObject({ sha256: z.string() }), z.strictObject({ revision: z.string() })]),
  answers: { 200: written },
}
