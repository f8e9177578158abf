import { ToolrackError } from '@toolrack/contract'
import express from 'express'
import type { Express, NextFunction, Request, Response } from 'express'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Authenticate } from '../../access/authenticate.ts'
import type { Log } from '../../log.ts'
import { allowOrigins } from './allow-origins.ts'
import { BodiesInFlight } from './bodies-in-flight.ts'
import { handlerOf } from './handle-route.ts'
import type { Handle } from './handle-route.ts'
import { addressesOf } from './route.ts'
import type { Family, FoundRequest, Method, TableRow } from './route.ts'
import { sendError } from './send-error.ts'
import { UnreadAnswers } from './unread-answers.ts'

/** What the edge itself works with; what the handlers work with is theirs. */
export type EdgeParts = {
  readonly authenticate: Authenticate
  readonly corsOrigins: readonly string[]
  readonly log: Log
  /** The bodies of all requests; those of a new server when it is left out. */
  readonly bodies?: BodiesInFlight
  /** The answers that wait for their readers; those of a new server when it is left out. */
  readonly unread?: UnreadAnswers
}

/** A row of the table at one of its addresses. */
type Place = { readonly method: Method; readonly address: string; readonly handle: Handle }

/**
 * Serves a table of routes. Everything is made from the table: the addresses that are looked up, Express's routes, the 405s
 * with their `Allow`, and what browsers of other origins may ask. `direct` is as in `addressesOf`.
 */
export function serveRoutes(
  table: readonly TableRow[],
  { authenticate, corsOrigins, log, bodies = new BodiesInFlight(), unread = new UnreadAnswers() }: EdgeParts,
  direct?: Family,
): RequestListener {
  const places = table.flatMap((row) =>
    addressesOf(row, direct).map(({ address, family }): Place => ({
      method: row.method,
      address,
      handle: givingBack(handlerOf(row, family, authenticate)),
    })),
  )
  const exact = exactAddresses(places)
  const app = expressApp(places, { bodies, unread }, log)

  /** An address as it is documented is looked up; Express, whose way to a route is longer, finds every other spelling of it. */
  function serve(req: IncomingMessage, res: ServerResponse): void {
    const { path, search } = addressOf(req)
    const handle = exact.get(`${req.method} ${path}`)
    if (handle)
      void answer(res, log, () => handle({ path, search, params: NO_PARAMS, req, res, bodies, unread }))
    else app(req, res)
  }
  if (corsOrigins.length === 0) return serve
  const allow = allowOrigins(corsOrigins, table)
  return (req, res) => allow(req, res, () => serve(req, res))
}

const NO_PARAMS = {}

/** The places whose address names nothing, by method and address. */
function exactAddresses(places: readonly Place[]): ReadonlyMap<string, Handle> {
  const exact = places.filter((place) => !isNaming(place))
  return new Map(exact.map(({ method, address, handle }) => [`${method} ${address}`, handle]))
}

/** Whether the address names something, as `:name` does. */
function isNaming({ address }: Place): boolean {
  return address.includes(':')
}

/** Every route, in whichever way its path may be spelled, and the answers where there is none. */
function expressApp(
  places: readonly Place[],
  counted: Pick<FoundRequest, 'bodies' | 'unread'>,
  log: Log,
): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', false)
  // Those that are written out come first, so that every spelling of an address finds what the exact one does.
  const inOrder = places.toSorted((a, b) => Number(isNaming(a)) - Number(isNaming(b)))
  for (const { method, address, handle } of inOrder)
    app.route(address)[lowerCase(method)]((req, res) => {
      const { search } = addressOf(req)
      return handle({ path: req.path, search, params: req.params, req, res, ...counted })
    })
  // Behind all routes: what comes here is an address without this method, and the router knows which places it matches.
  for (const { method, address } of places)
    app.all(address, (_req, res: Response<unknown, { known?: Method[] }>, next) => {
      res.locals.known = [...(res.locals.known ?? []), method]
      next()
    })
  app.use((_req: Request, res: Response<unknown, { known?: Method[] }>) => refuse(res, res.locals.known))
  app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => sendError(res, error, log))
  return app
}

/** No route has answered: the address is unknown, or known with other methods. */
function refuse(res: Response, known: readonly Method[] = []): void {
  if (known.length === 0) throw new ToolrackError('ROUTE_NOT_FOUND')
  const methods = [...new Set(known)].join(', ')
  res.setHeader('Allow', methods)
  throw new ToolrackError('METHOD_NOT_ALLOWED', `The route knows ${methods}.`)
}

/**
 * Gives the share of a request's body back when its handler has ended, however that was. A handler may go on after its
 * client has gone, and still holds the body then. One that ends at once has read none.
 */
function givingBack(handle: Handle): Handle {
  return function handleAndGiveBack(request) {
    return handle(request)?.finally(() => request.bodies.giveBack(request.req))
  }
}

/** What a handler throws, at once or later, is answered as an error. */
async function answer(res: ServerResponse, log: Log, handle: () => void | Promise<void>): Promise<void> {
  try {
    const answering = handle()
    if (answering) await answering
  } catch (error) {
    sendError(res, error, log)
  }
}

/** The address in two: the path, and what follows its `?`. */
function addressOf({ url = '' }: IncomingMessage): { readonly path: string; readonly search: string } {
  const question = url.indexOf('?')
  return question === -1
    ? { path: url, search: '' }
    : { path: url.slice(0, question), search: url.slice(question + 1) }
}

function lowerCase<M extends Method>(method: M): Lowercase<M> {
  return method.toLowerCase() as Lowercase<M>
}
