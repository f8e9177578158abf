import type { JsonObject, JsonValue } from '@toolrack/contract'
import { text } from 'node:stream/consumers'
import { ScriptedServer } from './scripted-server.ts'

/** A request to the vendor's endpoint. */
export type Asked = { readonly path: string; readonly body: JsonObject }

/** Stands in for a vendor's endpoint. It sends the answers of a test, one for each request, and records the requests. */
export class ScriptedVendor implements AsyncDisposable {
  readonly asked: Asked[] = []
  readonly #server: ScriptedServer

  private constructor(server: ScriptedServer) {
    this.#server = server
  }

  static async start(answers: readonly JsonValue[]): Promise<ScriptedVendor> {
    const server = await ScriptedServer.start()
    const vendor = new ScriptedVendor(server)
    server.answers = answers.map((answer) => (req, res) => {
      void text(req).then((sent) => {
        vendor.asked.push({ path: req.url ?? '', body: JSON.parse(sent) as JsonObject })
        res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
      })
    })
    return vendor
  }

  get origin(): string {
    return this.#server.origin
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]()
  }
}
