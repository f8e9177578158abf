import type { z } from 'zod'

/**
 * Describes a route, its requests and its answers by zod schemas. Only tests and `npm run http-reference` load these schemas,
 * because to import zod takes 43 ms. All objects are strict, so that tests find each field that is not described. Each field of
 * `params`, `query` and `body` has a description. If the body is no object, it has one itself.
 */
export type RouteSchemas = {
  /** One plain sentence that says what the route does or answers. */
  readonly summary: string
  /** The names in the path. */
  readonly params: z.ZodObject
  /** The parameters of the query. If a parameter is given several times, its value is a list. */
  readonly query: z.ZodObject
  /** What the request headers of this route mean, by name. Headers that all routes read are not here. */
  readonly headers?: Readonly<Record<string, string>>
  /** Missing if the route takes no body. */
  readonly body?: z.ZodType
  /**
   * The schemas of the bodies of answers, by status. An answer without a body has the schema of the empty text. One that is not
   * JSON has the schema of a text. Errors have the schema that all routes share, unless their status is here.
   */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** What the headers of this route's answers mean, by name. Headers that all routes send are not here. */
  readonly answerHeaders?: Readonly<Record<string, string>>
  /** The schemas of the data of events, by the name of the event, if the answer can be a stream of server-sent events. */
  readonly events?: Readonly<Record<string, z.ZodType>>
  /** The schema of one line, if the answer can be lines of JSON. */
  readonly lines?: z.ZodType
}
