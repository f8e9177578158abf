import type { IncomingMessage, ServerResponse } from 'node:http'
import { ScriptedServer } from './scripted-server.ts'

const METADATA = '/computeMetadata/v1/'
const ACCOUNT = `${METADATA}instance/service-accounts/default/`
const ACCESS_ANSWER = { access_token: 'of the instance', expires_in: 3_599, token_type: 'Bearer' }

/** Simulates the environment of an instance on Google Cloud: the metadata server, and the Admin API of Cloud Run by REST. */
export class GoogleCloud implements AsyncDisposable {
  /** How long an ID token is valid. */
  tokenSeconds = 3_600
  /** The state of the metadata server. With `silent` it keeps the connection open and does not answer. */
  metadata: 'here' | 'silent' | 'broken' = 'here'
  /** The addresses of services, by `projects/…/locations/…/services/…`. */
  readonly services = new Map<string, string>()
  /** An answer that replaces the Admin API's own. */
  refusal: Refusal | undefined
  /** The audiences of the issued tokens, and the requested services. */
  readonly audiences: string[] = []
  readonly lookedUp: string[] = []
  readonly #server: ScriptedServer
  readonly #before: Readonly<Record<string, string | undefined>>

  private constructor(server: ScriptedServer) {
    this.#server = server
    this.#before = Object.fromEntries(Object.keys(this.env).map((name) => [name, process.env[name]]))
    Object.assign(process.env, this.env)
    server.answers = [(req, res) => this.#answer(req, res)]
  }

  /** Starts the environment. Google's libraries in this process use it until it is disposed. */
  static async start(): Promise<GoogleCloud> {
    return new GoogleCloud(await ScriptedServer.start())
  }

  /** The environment variables with which Google's libraries find it. */
  get env(): { readonly GCE_METADATA_HOST: string; readonly METADATA_SERVER_DETECTION: string } {
    const { host } = new URL(this.#server.origin)
    return { GCE_METADATA_HOST: host, METADATA_SERVER_DETECTION: 'assume-present' }
  }

  /** The options for the client of Cloud Run. */
  get endpoint(): { readonly apiEndpoint: string; readonly port: number; readonly protocol: string } {
    const { hostname, port } = new URL(this.#server.origin)
    return { apiEndpoint: hostname, port: Number(port), protocol: 'http' }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [name, value] of Object.entries(this.#before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    await this.#server[Symbol.asyncDispose]()
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    const { pathname, searchParams } = new URL(req.url ?? '', this.#server.origin)
    if (pathname.startsWith(METADATA)) this.#tell(pathname, searchParams, req, res)
    else this.#lookUp(pathname, req, res)
  }

  /** Like the metadata server it refuses requests without its header, and sends the header with every answer. */
  #tell(path: string, query: URLSearchParams, req: IncomingMessage, res: ServerResponse): void {
    if (this.metadata === 'silent') return
    res.setHeader('Metadata-Flavor', 'Google')
    if (this.metadata === 'broken') res.writeHead(500).end('Internal error')
    else if (req.headers['metadata-flavor'] !== 'Google') res.writeHead(403).end()
    else if (path === `${ACCOUNT}token`) sendJson(res, ACCESS_ANSWER)
    else if (path === `${ACCOUNT}identity`) res.end(this.#idToken(query.get('audience') ?? ''))
    else res.writeHead(404).end()
  }

  /** An ID token. Its signature is not real, because no test checks it. */
  #idToken(aud: string): string {
    this.audiences.push(aud)
    const iat = Math.floor(Date.now() / 1_000)
    const times = { iat, exp: iat + this.tokenSeconds, jti: this.audiences.length }
    const parts = [{ alg: 'RS256', typ: 'JWT' }, { aud, iss: 'https://accounts.google.com', ...times }, {}]
    return parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  }

  #lookUp(path: string, req: IncomingMessage, res: ServerResponse): void {
    const name = path.replace(/^\/v2\//, '')
    this.lookedUp.push(name)
    const uri = this.services.get(name)
    const isKnown = req.headers.authorization === `Bearer ${ACCESS_ANSWER.access_token}`
    const refusal = isKnown ? this.refusal : { code: 401, status: 'UNAUTHENTICATED' }
    if (refusal) sendError(res, refusal)
    else if (uri === undefined) sendError(res, { code: 404, status: 'NOT_FOUND' })
    else sendJson(res, { name, uid: 'a', generation: '3', uri, urls: [uri], ingress: 'INGRESS_TRAFFIC_ALL' })
  }
}

type Refusal = { readonly code: number; readonly status: string }

function sendError(res: ServerResponse, refusal: Refusal): void {
  sendJson(res, { error: { ...refusal, message: 'No.' } }, refusal.code)
}

function sendJson(res: ServerResponse, value: unknown, httpStatus = 200): void {
  res.writeHead(httpStatus, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}
