import type { JsonObject, JsonValue } from '@toolrack/contract'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Action } from '../access/action.ts'
import type { Principal } from '../access/principal.ts'
import type { BodiesInFlight } from './bodies-in-flight.ts'
import type { RouteSchemas } from './route-schemas.ts'
import type { UnreadAnswers } from './unread-answers.ts'

export const FAMILIES = ['workflows', 'jobs'] as const
export type Family = (typeof FAMILIES)[number]

/** The methods, in the order in which CORS headers list them. */
export const METHODS = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

type NamesIn<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? NamesIn<Head> | NamesIn<Tail>
  : Path extends `:${infer Name}`
    ? Name
    : never

/** The percent-decoded parameters of a path: `{ name }` for `/tools/defs/:name`. */
type Params<Path extends string> = { readonly [Name in NamesIn<Path>]: string }

export type FoundRequest<Path extends string = string> = {
  /** The address up to its `?`. */
  readonly path: string
  /** The address after its `?`. */
  readonly search: string
  readonly params: Params<Path>
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Counts the request's body while it is used. */
  readonly bodies: BodiesInFlight
  /** Counts the answer until the client has read it. */
  readonly unread: UnreadAnswers
  /** Adds what the handler has decided to the record of the request in the audit trail. Undefined if there is no record. */
  readonly note?: ((noted: Noted) => void) | undefined
}

/** Facts that only the handler of a write knows. The handler may note several times, for example before and after the write. */
export type Noted = {
  readonly layer?: string | null
  readonly digest?: string | null
  readonly revision?: string | null
  readonly workflow?: string | null
  readonly rule?: JsonValue
  readonly decision?: string | null
  readonly approval?: string | null
  readonly arguments?: JsonValue
  readonly argumentsHash?: string | null
  readonly tool?: string | null
  readonly subject?: JsonObject
}

/** How a request is recorded in the audit trail. */
export type RecordedAs = {
  /** The kind of the record. Most recorded requests are writes. */
  readonly kind?: 'write' | 'approval' | 'simulation' | 'refresh'
  /** Says that the first name in the path is the name of a tool. */
  readonly names?: 'tool'
  /** Says that the request writes the layer that its query names. */
  readonly layer?: 'query'
}

/** A request whose sender is known and may do the action of the route. */
export type KnownRequest<Path extends string = string, Asked = unknown> = FoundRequest<Path> & {
  readonly principal: Principal
  readonly asked: Asked
  /** True if the sender may do the route's `inFull` action. */
  readonly inFull: boolean
}

export type Route<Path extends string = string, Asked = unknown> = {
  readonly method: Method
  /** The path as in docs/reference/http.md. It is below `/workflows` and `/jobs`, unless `isRoot` is set. */
  readonly path: Path
  /** True if the path is the whole address. Tokens of `/workflows` are valid there. */
  readonly isRoot?: true
  /** Imports the schemas of requests and answers. Only tests call it, so that no request waits for zod. */
  readonly schemas?: () => Promise<RouteSchemas>
  /** Reads the query and the headers. Throws if they are not valid. */
  readonly ask?: (request: FoundRequest<Path>) => Asked
  /** The action that the sender must be allowed to do. It is checked before `ask`, or after `ask` if it is a function. */
  readonly action: Action | ((asked: Asked) => Action)
  /** Answers instead of a 403, as if there were nothing to read. Only used if `action` is a function. */
  readonly hide?: (request: KnownRequest<Path, Asked>) => void
  /** A sender who may do this action too gets the full answer. `handle` finds the decision in the request's `inFull`. */
  readonly inFull?: Action
  /**
   * The route is one of the original service. It exists at the root too, where its clients ask with the token of a user, and all
   * errors below its path have the form `{"error": "…"}`.
   */
  readonly isOriginal?: true
  /** How the request is recorded. Without it, a GET is not recorded, and all others are recorded as writes. */
  readonly audit?: RecordedAs | 'none'
  /** True if `handle` reads the body. Otherwise, a route other than a GET first receives and discards the whole body. */
  readonly takesBody?: true
  /** Answers the request, at once or later, whole or in parts. Everything that it writes to `res` is sent directly. */
  readonly handle: (request: KnownRequest<Path, Asked>) => void | Promise<void>
}

/** A route at the root for everybody. The principal is undefined if the request has no token that is valid for `/workflows`. */
export type PublicRoute = {
  readonly method: Method
  readonly path: string
  readonly isRoot: true
  readonly schemas?: () => Promise<RouteSchemas>
  readonly isOriginal?: undefined
  readonly action: 'anybody'
  handle(request: FoundRequest & { readonly principal: Principal | undefined }): void | Promise<void>
}

export type TableRow = Route | PublicRoute

/** A request that is recorded. */
export type RecordedRequest = {
  readonly principal: Principal
  readonly route: Route
  readonly found: FoundRequest
}

/** Runs the handler of a request, `act`, and records how it ended. */
export type RecordRequest = (
  request: RecordedRequest,
  act: (note: (noted: Noted) => void) => void | Promise<void>,
) => Promise<void>

/** Checks a route's types against its path and its `ask`. The table of all routes no longer has these types. */
export function route<const Path extends string, Asked = undefined>(checked: Route<Path, Asked>): Route {
  return checked as unknown as Route
}

/** An address of a route, and the family whose tokens are valid there. */
type Address = { readonly address: string; readonly family: Family }

/**
 * The addresses of a route. A Cloud Function serves one family, `direct`. Addresses have the family's prefix if the function is
 * called through Hosting, but not if it is called directly. The function `jobs` does not serve routes for users at the root.
 */
export function addressesOf(
  { path, isRoot, isOriginal, action }: TableRow,
  direct?: Family,
): readonly Address[] {
  if (isRoot) return direct === 'jobs' && action !== 'anybody' ? [] : [{ address: path, family: 'workflows' }]
  const families = direct ? [direct] : FAMILIES
  const addresses = families.map((family) => ({ address: `/${family}${path}`, family }))
  if (direct) return [...addresses, { address: path, family: direct }]
  return isOriginal ? [...addresses, { address: path, family: 'workflows' }] : addresses
}
