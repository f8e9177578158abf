/** What each of the five principals is answered: a status, with the code of an error. */
export type Answers = readonly [
  user: string,
  anotherUser: string,
  admin: string,
  jobAccount: string,
  jobToken: string,
]

/** A request to a route: what stands for the names in its path, with blanks in between; the query; the body; the answers. */
export type AccessRow = readonly [names: string, query: string, body: string | null, answers: Answers]

/** How the tests of all routes ask a route. */
export type RouteCase = {
  readonly access: readonly AccessRow[]
  /** Requests of others that would reach what is Ann's if they reached anybody's. */
  readonly ofOthers: readonly (readonly [path: string, body?: string])[]
}

/**
 * The cases of a feature's routes, which its folder of tests exports as `ROUTE_CASES` from `route-cases.ts`. The tests of all routes find
 * them there.
 */
export type RouteCases = {
  /** What is there before each request: what Ann has put, with a text that nobody else may read. */
  readonly hers: (secret: string) => readonly (readonly [path: string, body: string])[]
  /** Where she reads it. */
  readonly readAt: string
  /** By `METHOD /path`. */
  readonly routes: Readonly<Record<string, RouteCase>>
}

export const DENIED = '403 PERMISSION_DENIED'

/** Answers to requests for what is Ann's. Others have nothing of that name. */
export function annAlone(found: string, none: string, byJobToken: string): Answers {
  return [found, none, none, found, byJobToken]
}
