import { ToolrackError } from '@toolrack/contract'
import cors from 'cors'
import express from 'express'
import type { Express, NextFunction, Request, Response } from 'express'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { addressOf, handlerOf } from './http/handle-route.ts'
import type { Handle } from './http/handle-route.ts'
import { FAMILIES } from './http/route.ts'
import type { Family, Route } from './http/route.ts'
import { sendError } from './http/send-error.ts'
import { health } from './routes/health.ts'
import { API_ROUTES, ROUTES } from './routes/routes.ts'
import type { Services } from './services.ts'

/**
 * The whole service: the same for the embedded server and for Cloud Functions. A function serves one family, `direct`,
 * and sees its prefix when it is called through Hosting but not when it is called itself.
 */
export function createApp(services: Services, direct?: Family): RequestListener {
  const doors = doorsOf(direct)
  const exact = exactRoutes(services, doors)
  const app = expressApp(services, doors)

  /** An address as it is documented is looked up; Express, whose way to a route is longer, finds every other spelling of it. */
  function serve(req: IncomingMessage, res: ServerResponse): void {
    const { path, search } = addressOf(req)
    const handle = exact.get(`${req.method} ${path}`)
    if (handle) void answer(services, res, () => handle({ path, search, name: '', req, res }))
    else app(req, res)
  }
  if (services.corsOrigins.length === 0) return serve
  const allowOrigins = corsFor(services.corsOrigins)
  return (req, res) => allowOrigins(req, res, () => serve(req, res))
}

/** Every route, in whichever way its path may be spelled, and the answers where there is none. */
function expressApp(services: Services, doors: readonly Door[]): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', false)
  for (const { prefix, family, routes } of doors) {
    for (const route of routes) {
      const handle = handlerOf(services, family, route)
      app[method(route)](prefix + route.path, (req, res) => {
        const { search } = addressOf(req)
        return handle({ path: req.path, search, name: nameIn(req), req, res })
      })
    }
  }
  app.get('/health', (req, res) => health(services, req, res))
  app.use(refuseMethod(doors))
  app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) =>
    sendError(res, error, services.log),
  )
  return app
}

/** The routes whose path holds no name, by method and path. */
function exactRoutes(services: Services, doors: readonly Door[]): ReadonlyMap<string, Handle> {
  return new Map(
    doors.flatMap(({ prefix, family, routes }) =>
      routes
        .filter(({ path }) => !path.includes(':'))
        .map((route): [string, Handle] => [
          `${route.method} ${prefix}${route.path}`,
          handlerOf(services, family, route),
        ]),
    ),
  )
}

/** What a handler throws, at once or later, is answered as an error. */
async function answer(
  services: Services,
  res: ServerResponse,
  handle: () => void | Promise<void>,
): Promise<void> {
  try {
    const answering = handle()
    if (answering) await answering
  } catch (error) {
    sendError(res, error, services.log)
  }
}

/** What is asked for below one prefix of the address, and whose tokens are good there. */
type Door = { readonly prefix: string; readonly family: Family; readonly routes: readonly Route[] }

function doorsOf(direct: Family | undefined): readonly Door[] {
  const families = direct ? [direct] : FAMILIES
  const doors = families.map((family): Door => ({ prefix: `/${family}`, family, routes: ROUTES }))
  if (direct) doors.push({ prefix: '', family: direct, routes: ROUTES })
  if (direct !== 'jobs') doors.push({ prefix: '/api', family: 'workflows', routes: API_ROUTES })
  return doors
}

/** The one name in the path, percent-decoded by the router. */
function nameIn({ params }: Request): string {
  const [name] = Object.values(params)
  return typeof name === 'string' ? name : ''
}

function method(route: Route): 'get' | 'put' | 'post' | 'delete' {
  return route.method.toLowerCase() as 'get' | 'put' | 'post' | 'delete'
}

/** Nothing has matched: the path is unknown, or known with other methods. */
function refuseMethod(doors: readonly Door[]) {
  return function refuse(req: Request, res: Response): void {
    const known = doors.flatMap(({ prefix, routes }) =>
      routes.filter(({ path }) => patternOf(prefix + path).test(req.path)),
    )
    const methods: string[] = known.map((route) => route.method)
    if (req.path === '/health') methods.push('GET')
    if (methods.length === 0) throw new ToolrackError('ROUTE_NOT_FOUND')
    const allowed = [...new Set(methods)].join(', ')
    res.setHeader('Allow', allowed)
    throw new ToolrackError('METHOD_NOT_ALLOWED', `The route knows ${allowed}.`)
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/:[a-z]+/g, '[^/]+')}/?$`, 'i')
}

function corsFor(origins: readonly string[]) {
  return cors({
    origin: [...origins],
    methods: ['GET', 'PUT', 'POST', 'DELETE'],
    allowedHeaders: ['Authorization', 'Content-Type', 'If-Match', 'If-None-Match'],
    exposedHeaders: [
      'ETag',
      'Link',
      'X-Tools-Revision',
      'X-Tools-Layers',
      'X-Tools-Unknown',
      'X-Tools-Quarantined',
    ],
    maxAge: 3600,
  })
}
