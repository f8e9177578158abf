import { afterAll, afterEach } from '@jest/globals'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { z } from 'zod'
import { FEATURES } from '../../functions/src/features/index.ts'
import type { Services } from '../../functions/src/hosts/services.ts'
import { errorAnswer, originalErrorAnswer } from '../../functions/src/http/answer-shapes.ts'
import type { RouteSchemas } from '../../functions/src/http/route-schemas.ts'
import type { FoundRequest, TableRow } from '../../functions/src/http/route.ts'
import { serveRoutes } from '../../functions/src/http/serve-routes.ts'

/** Larger bodies are not checked: a list of thousands of tools has the same shape as a short one, and takes a second to parse. */
const CHECKED_BYTES_MAX = 256 * 1024

const faults: string[] = []

function failForFaults(): void {
  const found = new Set(faults.splice(0))
  if (found.size > 0) throw new Error([...found].join('\n'))
}
afterEach(failForFaults)
afterAll(failForFaults)

/**
 * As `createApp`, for tests: every answer is compared with the schemas of its route, and so is the request if it was not refused. What
 * does not fit fails the test, and is told with the route and the status.
 */
export async function checkedApp(services: Services): Promise<RequestListener> {
  const routeOf = new WeakMap<ServerResponse, Handled>()
  const table = await Promise.all(FEATURES.table(services).map((row) => watched(row, routeOf)))
  const serve = serveRoutes(table, services)
  return (req, res) => {
    const sent = keepSent(req)
    keepAnswered(res, (body, type) => {
      const handled = routeOf.get(res)
      const fault = faultIn(() =>
        handled ? faultOf(handled, { res, body, type, sent: sent() }) : faultOfRefusal(res, body),
      )
      if (fault === undefined) return
      const place = handled ? `${handled.row.method} ${handled.row.path}` : `${req.method} ${req.url}`
      faults.push(`The answer ${res.statusCode} of ${place} does not fit its schema: ${fault}`)
    })
    serve(req, res)
  }
}

/** What `check` finds, or that it has thrown: a body is not the JSON that its type says. */
function faultIn(check: () => string | undefined): string | undefined {
  try {
    return check()
  } catch (error) {
    return String(error)
  }
}

/** A request that has reached the handler of its route. */
type Handled = { readonly row: TableRow; readonly schemas: RouteSchemas; readonly request: FoundRequest }

/** The row, which also notes the requests that it answers. All other answers are refusals. */
async function watched(row: TableRow, routeOf: WeakMap<ServerResponse, Handled>): Promise<TableRow> {
  const schemas = await row.schemas?.()
  if (!schemas) return row
  const noted =
    <Request extends FoundRequest, Answer>(answer: (request: Request) => Answer) =>
    (request: Request): Answer => {
      routeOf.set(request.res, { row, schemas, request })
      return answer(request)
    }
  if (row.action === 'anybody') return { ...row, handle: noted((request) => row.handle(request)) }
  const { hide } = row
  return { ...row, handle: noted((request) => row.handle(request)), ...(hide && { hide: noted(hide) }) }
}

type Answered = {
  readonly res: ServerResponse
  readonly type: string
  /** The bodies of the answer and of the request. Undefined if they are too large. */
  readonly body: Buffer | undefined
  readonly sent: Buffer | undefined
}

function faultOf(
  { row, schemas, request }: Handled,
  { res, type, body, sent }: Answered,
): string | undefined {
  const { statusCode: status, req } = res
  if (status === 304) {
    if (schemas.headers?.['If-None-Match'] === undefined) return 'the route does not describe If-None-Match'
    return body?.length === 0 ? undefined : 'a 304 has no body'
  }
  const known = schemas.answers[status]
  if (status >= 400 && !known) return faultOfError(status, body, row.isOriginal)
  if (status < 300) {
    const fault = faultOfRequest(schemas, request, req, sent)
    if (fault !== undefined) return fault
  }
  // The end of a stream may be missing: its reader may have left.
  if (type === 'text/event-stream') return body && faultOfEvents(schemas, body.toString())
  if (type === 'application/x-ndjson') return body && faultOfLines(schemas, body.toString())
  if (!known) return 'the schemas of the route have no such status'
  return body && misfit(known, valueIn(type, body))
}

/** A request that was refused before its route was found, or before its handler was called. */
function faultOfRefusal(res: ServerResponse, body: Buffer | undefined): string | undefined {
  const { statusCode: status } = res
  if (status === 204 && res.req.method === 'OPTIONS') return undefined
  if (status < 400) return 'its route has no schemas'
  const isOriginal = /^(?:\/(?:workflows|jobs))?\/agents(?:\/|$)/i.test(res.req.url?.split('?', 1)[0] ?? '')
  return faultOfError(status, body, isOriginal)
}

function faultOfError(
  status: number,
  body: Buffer | undefined,
  isOriginal: boolean | undefined,
): string | undefined {
  if (!body) return undefined
  const value = JSON.parse(body.toString()) as unknown
  if (isOriginal) return misfit(originalErrorAnswer, value)
  const parsed = errorAnswer.safeParse(value)
  if (!parsed.success) return issuesOf(parsed.error)
  return parsed.data.error.code === status ? undefined : `the body has the code ${parsed.data.error.code}`
}

/** A request whose answer is a success fits the schemas too. Otherwise they would describe less than the route takes. */
function faultOfRequest(
  { params, query, body }: RouteSchemas,
  { params: named, search }: FoundRequest,
  { headers }: IncomingMessage,
  sent: Buffer | undefined,
): string | undefined {
  const fault = misfit(params, { ...named }) ?? misfit(query, queryOf(search))
  if (fault !== undefined) return `its request has another address: ${fault}`
  if (!body || !sent || headers['content-encoding'] !== undefined) return undefined
  const value = bodyOf(sent)
  const wrong = misfit(body, value)
  return wrong === undefined ? undefined : `its request has another body: ${wrong}`
}

/** The value of a JSON text, and another text itself: modules are sent as Python. */
function bodyOf(sent: Buffer): unknown {
  try {
    return JSON.parse(sent.toString())
  } catch {
    return sent.toString()
  }
}

function queryOf(search: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {}
  for (const [key, value] of new URLSearchParams(search)) {
    const name = key.replace(/\[\]$/, '')
    const before = query[name]
    query[name] = before === undefined ? value : [before, value].flat()
  }
  return query
}

function faultOfEvents({ events }: RouteSchemas, text: string): string | undefined {
  if (!events) return 'the route has no events'
  for (const block of text.split('\n\n').slice(0, -1)) {
    const name = /^event: (.*)$/m.exec(block)?.[1]
    if (name === undefined) continue
    const schema = events[name]
    if (!schema) return `the schemas of the route have no event ${name}`
    const data = [...block.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line).join('\n')
    const fault = misfit(schema, JSON.parse(data))
    if (fault !== undefined) return `the event ${name}: ${fault}`
  }
  return undefined
}

function faultOfLines({ lines }: RouteSchemas, text: string): string | undefined {
  if (!lines) return 'the route has no lines of JSON'
  for (const line of text.split('\n').slice(0, -1)) {
    const fault = misfit(lines, JSON.parse(line))
    if (fault !== undefined) return `a line: ${fault}`
  }
  return undefined
}

function valueIn(type: string, body: Buffer): unknown {
  return type === 'application/json' ? JSON.parse(body.toString()) : body.toString()
}

function misfit(schema: z.ZodType, value: unknown): string | undefined {
  const parsed = schema.safeParse(value)
  return parsed.success ? undefined : issuesOf(parsed.error)
}

function issuesOf({ issues }: z.ZodError): string {
  return JSON.stringify(issues)
}

/** Keeps the bytes of a request as they come. The result is undefined if they are too many. */
function keepSent(req: IncomingMessage): () => Buffer | undefined {
  const kept = new Kept()
  const push = req.push.bind(req)
  req.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk instanceof Uint8Array) kept.add(chunk)
    return push(chunk, encoding)
  }
  return () => (req.complete ? kept.bytes : undefined)
}

/**
 * Calls `check` with the bytes and the type of an answer before its last ones are sent. The bytes are undefined if they are too many.
 */
function keepAnswered(res: ServerResponse, check: (body: Buffer | undefined, type: string) => void): void {
  const kept = new Kept()
  let type = ''
  let isChecked = false
  const { writeHead, write, end } = res as unknown as Record<
    'writeHead' | 'write' | 'end',
    (...args: unknown[]) => never
  >
  Object.assign(res, {
    writeHead(...args: unknown[]) {
      // Headers that are only in the head of an answer cannot be read later.
      const headers = [args.at(-1)].flat()
      const values = headers.flatMap((one) =>
        typeof one === 'object' && one ? Object.entries(one).flat() : [one],
      )
      const at = values.indexOf('Content-Type')
      if (at >= 0) type = String(values[at + 1]).split(';', 1)[0] ?? ''
      return writeHead.apply(res, args)
    },
    write(...args: unknown[]) {
      kept.add(args[0])
      return write.apply(res, args)
    },
    end(...args: unknown[]) {
      if (!isChecked) {
        kept.add(args[0])
        check(kept.bytes, type)
      }
      isChecked = true
      return end.apply(res, args)
    },
  })
}

/** Bytes up to CHECKED_BYTES_MAX. */
class Kept {
  readonly #chunks: Uint8Array[] = []
  #length = 0

  add(chunk: unknown): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    if (!(bytes instanceof Uint8Array)) return
    this.#length += bytes.length
    if (this.#length > CHECKED_BYTES_MAX) this.#chunks.length = 0
    else this.#chunks.push(Uint8Array.from(bytes))
  }

  get bytes(): Buffer | undefined {
    return this.#length > CHECKED_BYTES_MAX ? undefined : Buffer.concat(this.#chunks)
  }
}
