import { ToolrackError } from '@toolrack/contract'
import cors from 'cors'
import express from 'express'
import type { Express, NextFunction, Request, Response } from 'express'
import { authorise } from './access/authorise.ts'
import type { Principal } from './access/principal.ts'
import { FAMILIES } from './http/route.ts'
import type { Family, Route } from './http/route.ts'
import { sendError } from './http/send-error.ts'
import { health } from './routes/health.ts'
import { ROUTES } from './routes/routes.ts'
import type { Services } from './services.ts'

/**
 * The whole service as an Express app: the same for the embedded server and for Cloud Functions. A function serves one
 * family, `direct`, and sees its prefix when it is called through Hosting but not when it is called itself.
 */
export function createApp(services: Services, direct?: Family): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', false)
  if (services.corsOrigins.length > 0) app.use(corsFor(services.corsOrigins))
  const doors = doorsOf(direct)
  for (const { prefix, family } of doors) {
    for (const route of ROUTES) app[method(route)](prefix + route.path, handler(services, family, route))
  }
  app.get('/health', (req, res) => health(services, req, res))
  app.use(refuseMethod(doors))
  app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) =>
    sendError(res, error, services.log),
  )
  return app
}

/** A family's routes below one prefix of the address. */
type Door = { readonly prefix: string; readonly family: Family }

function doorsOf(direct: Family | undefined): readonly Door[] {
  const doors = (direct ? [direct] : FAMILIES).map((family): Door => ({ prefix: `/${family}`, family }))
  return direct ? [...doors, { prefix: '', family: direct }] : doors
}

function handler(services: Services, family: Family, route: Route) {
  return function handleRoute(req: Request, res: Response): void | Promise<void> {
    const { authorization, 'x-user-id': userId } = req.headers
    const principal = services.authenticate({ authorization, userId: userId?.toString(), family })
    return principal instanceof Promise ? principal.then(handle) : handle(principal)

    function handle(known: Principal): void | Promise<void> {
      authorise(known, { verb: 'read' })
      const question = req.url.indexOf('?')
      const search = question === -1 ? '' : req.url.slice(question + 1)
      return route.handle({ services, principal: known, search, req, res })
    }
  }
}

function method(route: Route): 'get' | 'put' | 'post' | 'delete' {
  return route.method.toLowerCase() as 'get' | 'put' | 'post' | 'delete'
}

/** Nothing has matched: the path is unknown, or known with other methods. */
function refuseMethod(doors: readonly Door[]) {
  return function refuse(req: Request, res: Response): void {
    const known = ROUTES.filter(({ path }) =>
      doors.some(({ prefix }) => patternOf(prefix + path).test(req.path)),
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
    exposedHeaders: ['ETag', 'Link', 'X-Tools-Revision', 'X-Tools-Layers', 'X-Tools-Unknown'],
    maxAge: 3600,
  })
}
