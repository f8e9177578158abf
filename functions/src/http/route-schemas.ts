import type { z } from 'zod'

/**
 * Describes a route, its requests and its answers, by zod schemas. Only tests and `npm run http-reference` load the schemas,
 * because importing zod takes 43 ms. All objects are strict, so that tests find a field that is not described. Each field of
 * `params`, `query` and `body` has a description, and so has a body that is no object.
 */
export type RouteSchemas = {
  /** One plain sentence that says what the route does or answers. */
  readonly summary: string
  /** The names in the path. */
  readonly params: z.ZodObject
  /** The parameters of the query. A parameter that is given several times is a list. */
  readonly query: z.ZodObject
  /** The meaning, by name, of headers of the request that only some routes read. */
  readonly headers?: Readonly<Record<string, string>>
  /** Missing if the route takes no body. */
  readonly body?: z.ZodType
  /**
   * The bodies of answers by status. For an answer without a body, this is the empty text, and for an answer that is not JSON, a
   * text. Errors have the schema that all routes share, unless their status is here.
   */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** The meaning, by name, of headers of an answer that only some routes send. */
  readonly answerHeaders?: Readonly<Record<string, string>>
  /** The data of the events by name, if the answer can be a stream of server-sent events. */
  readonly events?: Readonly<Record<string, z.ZodType>>
  /** The schema of one line, if the answer can be lines of JSON. */
  readonly lines?: z.ZodType
}
