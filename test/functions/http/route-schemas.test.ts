import { describe, expect, test } from '@jest/globals'
import { parametersOf } from '../../../functions/src/http/reference/route-facts.ts'
import type { RouteSchemas } from '../../../functions/src/http/route-schemas.ts'
import type { FoundRequest, TableRow } from '../../../functions/src/http/route.ts'
import { serveRoutes } from '../../../functions/src/http/serve-routes.ts'
import { textLog } from '../../../functions/src/log.ts'
import { ROWS } from '../../support/route-table.ts'

const routes = ROWS.map((row): readonly [string, TableRow] => [`${row.method} ${row.path}`, row])
const SCHEMAS = new Map<string, RouteSchemas>()
for (const [name, { schemas }] of routes) {
  const loaded = await schemas?.()
  if (loaded) SCHEMAS.set(name, loaded)
}

function schemasOf(name: string): RouteSchemas {
  const schemas = SCHEMAS.get(name)
  if (!schemas) throw new Error(`${name} has no schemas`)
  return schemas
}

test('each route has schemas', () => {
  expect(routes.map(([name]) => name).filter((name) => !SCHEMAS.has(name))).toEqual([])
})

const ALLOWED = corsHeaders('OPTIONS', 'access-control-allow-headers')
const EXPOSED = corsHeaders('GET', 'access-control-expose-headers')

/** The headers that a route reads only to refuse them. */
const REFUSED_HEADERS: Readonly<Record<string, readonly string[]>> = {
  'POST /tools/defs': ['if-match', 'if-none-match'],
}

describe.each(routes)('the schemas of %s', (name, row) => {
  const schemas = schemasOf(name)
  const { params, query, headers = {}, body, answers } = schemas

  test('say in a short sentence what it does', () => {
    expect(schemas.summary).toMatch(/^[A-Z][^\n]{5,119}\.$/)
  })

  test('describe each parameter of the path, the query, the headers and the body', () => {
    const parameters = parametersOf(schemas).map((one) => ({ ...one, schema: undefined }))
    expect(parameters.filter(({ description }) => !/^[A-Z0-9`][^\n]+\.$/.test(description ?? ''))).toEqual([])
  })

  test('name each header that it reads beside the query', () => {
    const named = new Set(Object.keys(headers).map((header) => header.toLowerCase()))
    expect(headersAsked(row).filter((header) => !named.has(header))).toEqual(REFUSED_HEADERS[name] ?? [])
  })

  test('name the variable parts of its path', () => {
    const parts = [...row.path.matchAll(/:(\w+)/g)].map(([, part]) => part)
    expect(Object.keys(params.shape)).toEqual(parts)
  })

  test('have a body if the route takes one', () => {
    expect(body !== undefined).toBe('takesBody' in row && row.takesBody)
  })

  test('have an answer to a request that succeeds', () => {
    expect(Object.keys(answers).filter((status) => status.startsWith('2'))).not.toEqual([])
  })

  test('refuse unknown parameters, as the route does', () => {
    const ignoresOthers = row.isOriginal === true || row.action === 'anybody'
    expect(query.partial().safeParse({ nobodyKnowsThis: '1' }).success).toBe(ignoresOthers)
  })
})

/** The headers that the route reads before it handles a request. What it says of the rest of the request does not matter. */
function headersAsked(row: TableRow): readonly string[] {
  const asked = new Set<string>()
  const headers = new Proxy({}, { get: (_none, header) => void asked.add(String(header)) })
  const params = { kind: 'session', id: 'one', name: 'one' }
  const request = { path: '', search: '', params, req: { headers } } as unknown as FoundRequest
  try {
    if (row.action !== 'anybody') row.ask?.(request)
  } catch {
    // The query has no required parameter. Such a route reads no header.
  }
  return [...asked]
}

test('pages of other origins may read each header of an answer that a route describes', () => {
  const described = [...SCHEMAS.values()].flatMap(({ answerHeaders = {} }) => Object.keys(answerHeaders))
  expect(described.filter((header) => !EXPOSED.includes(header))).toEqual([])
  // All routes may send these: `ETag` and `Link` by the common rules, and `Retry-After` with an error.
  const common = new Set(['ETag', 'Link', 'Retry-After'])
  expect(EXPOSED.filter((header) => !described.includes(header) && !common.has(header))).toEqual([])
})

test('the headers that pages of other origins may send are those of the routes, and those of all requests', () => {
  const ofRoutes = new Set([...SCHEMAS.values()].flatMap(({ headers = {} }) => Object.keys(headers)))
  const ofAll = ['Authorization', 'Content-Type', 'traceparent']
  // Every browser sends `Accept` without asking.
  ofRoutes.delete('Accept')
  expect(new Set([...ofRoutes, ...ofAll])).toEqual(new Set(ALLOWED))
})

/** The headers that the answers to a preflight and to a request of another origin name. */
function corsHeaders(method: string, name: string): readonly string[] {
  const listen = serveRoutes(ROWS, {
    authenticate: () => Promise.reject(new Error('not asked')),
    corsOrigins: ['https://app.example'],
    log: textLog({ write: () => true }),
  })
  const sent = new Map<string, string>()
  const req = { method, url: '/nothing', headers: { origin: 'https://app.example' } }
  const res = {
    getHeader: () => undefined,
    setHeader: (header: string, value: string) => sent.set(header.toLowerCase(), value),
    end: () => {},
  }
  try {
    listen(req as unknown as Parameters<typeof listen>[0], res as unknown as Parameters<typeof listen>[1])
  } catch {
    // The request is not whole, so it cannot be answered. The headers are set before.
  }
  return (sent.get(name) ?? '').split(',')
}
