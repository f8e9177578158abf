import type { z } from 'zod'

/**
 * What a route does, what a request to it may have, and what it is answered, as zod schemas. Nothing at run time reads them: importing
 * zod takes 43 ms. Only tests and `npm run http-reference` load them. All objects are strict, so that a field which nobody has described
 * is found. Each field of `params`, `query` and `body` has a description, and so has a body that is no object.
 */
export type RouteSchemas = {
  /** One plain sentence: what the route does, or what it answers. */
  readonly summary: string
  /** The names in the path. */
  readonly params: z.ZodObject
  /** The parameters of the query. One that is given several times is a list. */
  readonly query: z.ZodObject
  /** What each header of the request says that only some routes read, by name. */
  readonly headers?: Readonly<Record<string, string>>
  /** Missing if the route takes no body. */
  readonly body?: z.ZodType
  /**
   * The bodies of answers by status. An answer without a body is the empty text, and one that is not JSON is its text. Errors have the
   * schema that all routes share, unless their status is here.
   */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** What the headers of an answer say that only some routes send, by name. */
  readonly answerHeaders?: Readonly<Record<string, string>>
  /** The data of the events by name, if the answer can be a stream of server-sent events. */
  readonly events?: Readonly<Record<string, z.ZodType>>
  /** One line, if the answer can be lines of JSON. */
  readonly lines?: z.ZodType
}
