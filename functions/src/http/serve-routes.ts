import { ToolrackError } from '@toolrack/contract'
import cors from 'cors'
import express from 'express'
import type { Express, NextFunction, Request, Response } from 'express'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Authenticate } from '../access/authenticate.ts'
import type { Log } from '../log.ts'
import { beginRequest, endStretch } from '../running-work.ts'
import { BodiesInFlight } from './bodies-in-flight.ts'
import { handlerOf, type Handle } from './handle-route.ts'
import {
  addressesOf,
  METHODS,
  type Family,
  type FoundRequest,
  type Method,
  type TableRow,
  type RecordRequest,
} from './route.ts'
import { originalError, sendError } from './send-error.ts'
import { UnreadAnswers } from './unread-answers.ts'

export type ServedParts = {
  readonly authenticate: Authenticate
  readonly corsOrigins: readonly string[]
  readonly log: Log
  /** Records requests in the audit trail. Without this function, nothing is recorded. */
  readonly record?: RecordRequest | undefined
  readonly bodies?: BodiesInFlight
  readonly unread?: UnreadAnswers
}

type Place = { readonly method: Method; readonly address: string; readonly handle: Handle }

/**
 * Serves the routes of a table. From the table it also knows which addresses exist, which methods a 405 names in `Allow`, and
 * which methods CORS allows.
 */
export function serveRoutes(
  table: readonly TableRow[],
  {
    authenticate,
    corsOrigins,
    log,
    record,
    bodies = new BodiesInFlight(),
    unread = new UnreadAnswers(),
  }: ServedParts,
  direct?: Family,
): RequestListener {
  const places = table.flatMap((row) =>
    addressesOf(row, direct).map(({ address, family }): Place => {
      const handle = handlerOf(row, family, authenticate, record)
      const { method } = row
      const route = `${method} ${address}`
      function handleAndGiveBack(request: FoundRequest): void | Promise<void> {
        const work = beginRequest(route)
        try {
          // A handler may outlive its connection, so the body counts until the handler ends. A handler without a promise has read
          // no body.
          return handle(request)?.finally(() => bodies.giveBack(request.req))
        } finally {
          endStretch(work)
        }
      }
      return { method, address, handle: handleAndGiveBack }
    }),
  )
  const plain = places.filter((place) => !hasParameter(place))
  const exact = new Map(plain.map(({ method, address, handle }) => [`${method} ${address}`, handle]))
  const fail = failing(originalPaths(table, direct), log)
  const app = expressApp(places, { bodies, unread }, fail)

  /**
   * Answers a request. An address without parameters that is spelled as in the documentation is found in a map. Express finds all
   * others, which takes longer: addresses with parameters, or with another spelling, such as a slash at the end.
   */
  function serve(req: IncomingMessage, res: ServerResponse): void {
    const { path, search } = addressOf(req)
    const handle = exact.get(`${req.method} ${path}`)
    if (handle) answer(res, fail, () => handle({ path, search, params: NO_PARAMS, req, res, bodies, unread }))
    else app(req, res)
  }
  if (corsOrigins.length === 0) return serve
  const allow = allowOrigins(corsOrigins, table)
  return (req, res) => allow(req, res, () => serve(req, res))
}

const NO_PARAMS = {}

/** True if the address of a route has a parameter, such as `:name`. */
function hasParameter({ address }: Place): boolean {
  return address.includes(':')
}

type Refused = Response<unknown, { known?: Method[] }>

/** Makes an Express app that serves every route with every spelling of its path, and refuses all other addresses and methods. */
function expressApp(
  places: readonly Place[],
  counted: Pick<FoundRequest, 'bodies' | 'unread'>,
  fail: Fail,
): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', false)
  // Addresses without a parameter come first, as in `exact`, so that every spelling of an address finds the same route.
  const inOrder = places.toSorted((a, b) => Number(hasParameter(a)) - Number(hasParameter(b)))
  for (const { method, address, handle } of inOrder)
    app.route(address)[method.toLowerCase() as Lowercase<Method>]((req, res) => {
      const { search } = addressOf(req)
      return handle({ path: req.path, search, params: req.params, req, res, ...counted })
    })
  // Requests that no route has answered come here. Each place with the same address adds its method to `known`.
  for (const { method, address } of places)
    app.all(address, (_req, res: Refused, next) => {
      res.locals.known = [...(res.locals.known ?? []), method]
      next()
    })
  app.use((_req: Request, res: Refused) => refuse(res, res.locals.known))
  app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => fail(res, error))
  return app
}

/**
 * Throws the error for a request that has no route. `known` are the methods that the address has. If there are none, the address
 * is unknown.
 */
function refuse(res: Response, known: readonly Method[] = []): void {
  if (known.length === 0) throw new ToolrackError('ROUTE_NOT_FOUND')
  const methods = [...new Set(known)].join(', ')
  res.setHeader('Allow', methods)
  throw new ToolrackError('METHOD_NOT_ALLOWED', `The route knows ${methods}.`)
}

/** Answers the CORS requests of pages from these origins. It allows the methods in the table and the headers of the API. */
function allowOrigins(origins: readonly string[], table: readonly TableRow[]) {
  const known = new Set(table.map(({ method }) => method))
  return cors({
    origin: [...origins],
    methods: METHODS.filter((method) => known.has(method)),
    allowedHeaders:
      'Authorization,Content-Type,If-Match,If-None-Match,Idempotency-Key,X-Project-Id,traceparent,Last-Event-ID,Range,If-Range,X-Name',
    exposedHeaders:
      'ETag,Link,Retry-After,Idempotent-Replay,X-Tools-Revision,X-Tools-Layers,X-Tools-Unknown,X-Tools-Quarantined,X-Tools-Omitted,X-Tools-Unavailable,X-Tools-Left-Out,X-Tools-Scope-Unmatched,X-Tools-Changed,X-Tools-Tokens,RateLimit,RateLimit-Policy,Content-Disposition,Content-Range',
    maxAge: 3600,
  })
}

/**
 * Runs a handler. If it throws or rejects, answers with the error.
 */
function answer(res: ServerResponse, fail: Fail, handle: () => void | Promise<void>): void {
  try {
    handle()?.catch((error: unknown) => fail(res, error))
  } catch (error) {
    fail(res, error)
  }
}

type Fail = (res: ServerResponse, error: unknown) => void

/**
 * Returns a function that answers with an error. At the addresses in `original`, and below them, the error has the format of the
 * original service, which Toolrack replaces.
 */
function failing(original: readonly string[], log: Log): Fail {
  return function fail(res, error) {
    // Node has read these requests, so every one has an address.
    const path = addressOf(res.req).path.toLowerCase()
    const isOriginal = original.some((start) => path === start || path.startsWith(`${start}/`))
    sendError(res, error, log, isOriginal ? originalError : undefined)
  }
}

/**
 * The addresses without parameters of those routes that the original service, which Toolrack replaces, has too. All other
 * addresses of that service are below these.
 */
function originalPaths(table: readonly TableRow[], direct?: Family): readonly string[] {
  const addresses = table.filter(({ isOriginal }) => isOriginal).flatMap((row) => addressesOf(row, direct))
  return [...new Set(addresses.map(({ address }) => address).filter((address) => !address.includes(':')))]
}

function addressOf({ url = '' }: IncomingMessage): { readonly path: string; readonly search: string } {
  const end = url.includes('?') ? url.indexOf('?') : url.length
  return { path: url.slice(0, end), search: url.slice(end + 1) }
}
