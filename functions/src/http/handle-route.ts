import type { IncomingMessage } from 'node:http'
import { authorise } from '../access/authorise.ts'
import type { Principal } from '../access/principal.ts'
import type { Services } from '../services.ts'
import type { Family, Route, RouteRequest } from './route.ts'

/** A request as it was found to be for a route. */
type FoundRequest = Pick<RouteRequest, 'path' | 'search' | 'name' | 'req' | 'res'>
export type Handle = (request: FoundRequest) => void | Promise<void>

/** Authenticates, then lets the route do the rest: at once where everything that is needed is at hand. */
export function handlerOf(services: Services, family: Family, route: Route): Handle {
  return function handleRoute(request) {
    const { authorization, 'x-user-id': userId } = request.req.headers
    const principal = services.authenticate({ authorization, userId: userId?.toString(), family })
    return principal instanceof Promise ? principal.then(handle) : handle(principal)

    function handle(known: Principal): void | Promise<void> {
      authorise(known, { verb: 'read' })
      return route.handle({ ...request, services, principal: known })
    }
  }
}

/** The address in two: the path, and what follows its `?`. */
export function addressOf({ url = '' }: IncomingMessage): { readonly path: string; readonly search: string } {
  const question = url.indexOf('?')
  return question === -1
    ? { path: url, search: '' }
    : { path: url.slice(0, question), search: url.slice(question + 1) }
}
