import { z } from 'zod'
import { none } from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'

/** A text in the format of Prometheus. */
export const READ_METRICS: RouteSchemas = {
  summary:
    'Tells numbers about this process, in the text format of Prometheus, without names of users and tools.',
  params: none,
  query: none,
  answers: { 200: z.string().min(1) },
}
