import type { Request, Response } from 'express'
import type { Principal } from '../access/principal.ts'
import type { Services } from '../services.ts'

export const FAMILIES = ['workflows', 'jobs'] as const
export type Family = (typeof FAMILIES)[number]

/** A request whose sender is known. */
export type RouteRequest = {
  readonly services: Services
  readonly principal: Principal
  /** What follows the `?` of the address. */
  readonly search: string
  readonly req: Request
  readonly res: Response
}

/** One verb on one path, the same for users and jobs; what only one of them may do, `decide` says. */
export type Route = {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Below `/workflows` and `/jobs`. */
  readonly path: string
  readonly handle: (request: RouteRequest) => void | Promise<void>
}
