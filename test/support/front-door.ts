import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'

const pem = (name: string): URL => new URL(`certificates/loopback.${name}.pem`, import.meta.url)

/** The certificate of the front door. Clients trust it through NODE_EXTRA_CA_CERTS, or through the certificates of `tls`. */
export const CERTIFICATE = fileURLToPath(pem('cert'))

/** A request that the front door accepted: its instance, and the answer. */
export type Passed = { readonly path: string; readonly instance: number; readonly httpStatus: number }

/**
 * Simulates Google's front end before the instances of one service. It accepts ID tokens for its own address, removes the
 * token's signature, and sends each request to the next instance.
 */
export class FrontDoor implements AsyncDisposable {
  /** The endpoints of the instances. */
  instances: readonly string[]
  /** The front door's own answers: 403 if IAM does not allow the account, 404 if the service no longer exists. */
  refusal: 403 | 404 | undefined
  readonly passed: Passed[] = []
  /** The tokens of the requests that were sent to the instances. */
  readonly tokens = new Set<string>()
  readonly #server: Server
  #turn = 0

  private constructor(instances: readonly string[]) {
    this.instances = instances
    const keys = { key: readFileSync(pem('key')), cert: readFileSync(pem('cert')) }
    this.#server = createServer(keys, (req, res) => this.#admit(req, res))
  }

  static async before(...instances: readonly string[]): Promise<FrontDoor> {
    const door = new FrontDoor(instances)
    await new Promise<void>((resolve) => door.#server.listen(0, '127.0.0.1', resolve))
    return door
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #admit(req: IncomingMessage, res: ServerResponse): void {
    const [head = '', claims = ''] = (req.headers.authorization ?? '').replace('Bearer ', '').split('.')
    if (!isFor(this.url, claims)) res.writeHead(401).end('<html>Unauthorized</html>')
    else if (this.refusal) res.writeHead(this.refusal).end('<html>No</html>')
    else this.#pass(req, res, `Bearer ${head}.${claims}.SIGNATURE_REMOVED_BY_GOOGLE`)
  }

  #pass(req: IncomingMessage, res: ServerResponse, authorization: string): void {
    const { url: path = '', method = '', headers } = req
    const instance = this.#turn++ % this.instances.length
    this.tokens.add(authorization)
    const options = { method, headers: { ...headers, authorization }, agent: false as const }
    const onward = request(new URL(path, this.instances[instance]), options, (answer) => {
      this.passed.push({ path, instance, httpStatus: answer.statusCode ?? 0 })
      res.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(res)
    })
    onward.on('error', () => {
      if (!res.headersSent) res.writeHead(503).end('The request failed because the instance had an error.')
    })
    res.on('close', () => onward.destroy())
    req.pipe(onward)
  }
}

function isFor(audience: string, claims: string): boolean {
  try {
    const { aud, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as {
      aud: unknown
      exp: number
    }
    return aud === audience && exp * 1_000 > Date.now()
  } catch {
    return false
  }
}
