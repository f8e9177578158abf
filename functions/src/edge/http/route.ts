import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Action, Principal } from '../../access/principal.ts'
import type { BodiesInFlight } from './bodies-in-flight.ts'
import type { UnreadAnswers } from './unread-answers.ts'

export const FAMILIES = ['workflows', 'jobs'] as const
export type Family = (typeof FAMILIES)[number]

/** In the order in which CORS headers list them. */
export const METHODS = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

type NamesIn<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? NamesIn<Head> | NamesIn<Tail>
  : Path extends `:${infer Name}`
    ? Name
    : never

/** What a path names, percent-decoded: `/tools/defs/:name` gives `{ name }`. */
type Params<Path extends string> = { readonly [Name in NamesIn<Path>]: string }

/** A request that has arrived at a route's address. */
export type FoundRequest<Path extends string = string> = {
  /** The address up to its `?`. */
  readonly path: string
  /** What follows the `?`. */
  readonly search: string
  readonly params: Params<Path>
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Counts the request's body while it is worked on. */
  readonly bodies: BodiesInFlight
  /** Counts the answer until its reader has read it. */
  readonly unread: UnreadAnswers
}

/** A request whose sender is known and may do what the route does. */
export type KnownRequest<Path extends string = string, Asked = unknown> = FoundRequest<Path> & {
  readonly principal: Principal
  /** What the route's `ask` has read. */
  readonly asked: Asked
  /** Whether the sender may do what the route's `inFull` says. */
  readonly inFull: boolean
}

/** A method on a path, what it does, and its handler. */
export type Route<Path extends string = string, Asked = unknown> = {
  readonly method: Method
  /** As in docs/api.md: below `/workflows` and `/jobs`, unless the route is at the root. */
  readonly path: Path
  /** The path is the whole address, and takes the tokens of `/workflows`. */
  readonly isRoot?: true
  /** Reads the query and the headers. Throws if they are not valid. */
  readonly ask?: (request: FoundRequest<Path>) => Asked
  /**
   * What the sender must be allowed to do. A fixed action is authorised before `ask`, one that depends on what was asked after
   * it. Both are authorised before the body is read.
   */
  readonly action: Action | ((asked: Asked) => Action)
  /** Answers instead of a 403, as if there were nothing to read. Only for an action that depends on what was asked. */
  readonly hide?: (request: KnownRequest<Path, Asked>) => void
  /** A sender who may do this too gets the full answer. `inFull` of the request tells `handle` whether they may. */
  readonly inFull?: Action
  /** `handle` reads the body. Otherwise a route other than a GET waits for the whole request and throws its body away. */
  readonly takesBody?: true
  /** May answer at once, later, or over time. What it writes to `res` goes to the connection directly. */
  readonly handle: (request: KnownRequest<Path, Asked>) => void | Promise<void>
}

/** A route at the root for everybody. Its principal is undefined without a token that is valid below `/workflows`. */
export type PublicRoute = {
  readonly method: Method
  readonly path: string
  readonly isRoot: true
  readonly action: 'anybody'
  readonly handle: (
    request: FoundRequest & { readonly principal: Principal | undefined },
  ) => void | Promise<void>
}

export type TableRow = Route | PublicRoute

/** Checks a route's types against the names in its path and what it asks. The table of all routes does not know them. */
export function route<const Path extends string, Asked = undefined>(checked: Route<Path, Asked>): Route {
  return checked as unknown as Route
}

/** An address of a route, and the family whose tokens are valid there. */
export type Address = { readonly address: string; readonly family: Family }

/**
 * The addresses of a route. A function serves one family, `direct`. It sees the family's prefix when it is called through
 * Hosting, but not when it is called directly. The function of the jobs does not serve routes for users at the root.
 */
export function addressesOf({ path, isRoot, action }: TableRow, direct?: Family): readonly Address[] {
  if (isRoot) return direct === 'jobs' && action !== 'anybody' ? [] : [{ address: path, family: 'workflows' }]
  const families = direct ? [direct] : FAMILIES
  const addresses = families.map((family) => ({ address: `/${family}${path}`, family }))
  return direct ? [...addresses, { address: path, family: direct }] : addresses
}
