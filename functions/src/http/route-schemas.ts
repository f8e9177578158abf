import type { z } from 'zod'

/**
 * What a request to a route may have, and what it is answered, as zod schemas. Nothing at run time reads them: importing zod takes
 * 43 ms. Only tests load them. All objects are strict, so that a field which nobody has described is found.
 */
export type RouteSchemas = {
  /** The names in the path. */
  readonly params: z.ZodObject
  /** The parameters of the query. One that is given several times is a list. */
  readonly query: z.ZodObject
  /** Missing if the route takes no body. */
  readonly body?: z.ZodType
  /**
   * The bodies of answers by status. An answer without a body is the empty text, and one that is not JSON is its text. Errors have the
   * schema that all routes share, unless their status is here.
   */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** The data of the events by name, if the answer can be a stream of server-sent events. */
  readonly events?: Readonly<Record<string, z.ZodType>>
  /** One line, if the answer can be lines of JSON. */
  readonly lines?: z.ZodType
}
