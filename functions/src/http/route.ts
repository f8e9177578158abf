import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '../access/principal.ts'
import type { Services } from '../services.ts'

export const FAMILIES = ['workflows', 'jobs'] as const
export type Family = (typeof FAMILIES)[number]

/** A request whose sender is known. */
export type RouteRequest = {
  readonly services: Services
  readonly principal: Principal
  /** The address up to its `?`. */
  readonly path: string
  /** What follows the `?`. */
  readonly search: string
  /** What the path names (a tool, a module, a call), percent-decoded; empty where the route's path names nothing. */
  readonly name: string
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

/** One verb on one path, the same for users and jobs; what only one of them may do, `decide` says. */
export type Route = {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Below `/workflows` and `/jobs`, or below `/api`. */
  readonly path: string
  readonly handle: (request: RouteRequest) => void | Promise<void>
}
