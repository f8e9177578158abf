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

/** The parameters of a path, percent-decoded. For `/tools/defs/:name`, this is `{ name }`. */
type Params<Path extends string> = { readonly [Name in NamesIn<Path>]: string }

export type FoundRequest<Path extends string = string> = {
  /** The address up to its `?`. */
  readonly path: string
  /** The address after its `?`. */
  readonly search: string
  readonly params: Params<Path>
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Counts the bytes of request bodies while they are used. */
  readonly bodies: BodiesInFlight
  /** Counts the bytes of answers until the clients have read them. */
  readonly unread: UnreadAnswers
  /** Adds facts that only the handler knows to the audit record of the request. Undefined if the request is not recorded. */
  readonly note?: ((noted: Noted) => void) | undefined
}

/**
 * Facts for an audit record that only the handler knows. The handler may note them in several calls, for example before and after
 * the write.
 */
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
  /** Set if the first parameter of the path is the name of a tool. */
  readonly names?: 'tool'
  /** Set if the request writes a layer, which its query names. */
  readonly layer?: 'query'
  /** A parameter of the path that can be no name is left out of the record. The default is that every text can be one. */
  readonly isName?: (text: string) => boolean
}

/** A request whose sender is known, and may do the action of the route. */
export type KnownRequest<Path extends string = string, Asked = unknown> = FoundRequest<Path> & {
  readonly principal: Principal
  readonly asked: Asked
  /** True if the sender may do the route's `inFull` action. */
  readonly inFull: boolean
}

export type Route<Path extends string = string, Asked = unknown> = {
  readonly method: Method
  /** The path as in docs/reference/http.md. The address is this path below `/workflows` or `/jobs`, unless `isRoot` is set. */
  readonly path: Path
  /** Set if the path is the whole address. Then the tokens of the family `workflows` are valid. */
  readonly isRoot?: true
  /**
   * Imports the schemas of the route's requests and answers. Only tests and tools call it, so that no request waits for the
   * import of zod.
   */
  readonly schemas?: () => Promise<RouteSchemas>
  /** Reads the query and the headers that the handler needs. Throws if they are not valid. */
  readonly ask?: (request: FoundRequest<Path>) => Asked
  /**
   * The action that the sender must be allowed to do. If it depends on the request, it is a function of the result of `ask`, and
   * is checked after `ask`. Otherwise it is checked before `ask`.
   */
  readonly action: Action | ((asked: Asked) => Action)
  /**
   * Answers a sender who may not do the action, as if there were nothing to read. Without it, the answer is a 403. Only used if
   * `action` is a function.
   */
  readonly hide?: (request: KnownRequest<Path, Asked>) => void
  /** An action that a sender must also be allowed to do to get the full answer. `handle` finds in `inFull` whether this is so. */
  readonly inFull?: Action
  /**
   * Set if the original service, which Toolrack replaces, has this route too. Then the route also exists at the root, where the
   * clients of that service ask with the token of a user. All errors below its path have the form `{"error": "…"}`.
   */
  readonly isOriginal?: true
  /**
   * How the request is recorded in the audit trail. Without this field, a GET is not recorded, and any other request is recorded
   * as a write.
   */
  readonly audit?: RecordedAs | 'none'
  /**
   * Set if `handle` reads the body. Without it, if the request is not a GET, its whole body is received and discarded before
   * `handle` runs.
   */
  readonly takesBody?: true
  /** Answers the request, at once or later, whole or in parts. What it writes to `res` is sent directly. */
  readonly handle: (request: KnownRequest<Path, Asked>) => void | Promise<void>
}

/**
 * A route at the root that everybody may use. Its principal is undefined if the request has no token that is valid for
 * `/workflows`.
 */
export type PublicRoute = {
  readonly method: Method
  readonly path: string
  readonly isRoot: true
  readonly schemas?: () => Promise<RouteSchemas>
  readonly isOriginal?: undefined
  readonly action: 'anybody'
  /** Set if not all requests are for everybody. Returns the action that the sender must be allowed to do, or undefined. */
  readonly needs?: (request: FoundRequest) => Action | undefined
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

/**
 * Checks the types of a route: its path, and what `ask` returns. The result no longer has these types, so that all routes fit
 * into one table.
 */
export function route<const Path extends string, Asked = undefined>(checked: Route<Path, Asked>): Route {
  return checked as unknown as Route
}

/** An address of a route, and the family whose tokens are valid at this address. */
type Address = { readonly address: string; readonly family: Family }

/**
 * The addresses of a route. A Cloud Function serves only the family `direct`. Its addresses have the prefix of the family if the
 * request comes through Hosting, and no prefix if the function is called directly. At the root, the function `jobs` serves only
 * routes for everybody.
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
