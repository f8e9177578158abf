import type { RequestListener } from 'node:http'
import { ToolDefs } from '../../packages/client/src/index.ts'
import type { ToolDefsOptions } from '../../packages/client/src/index.ts'
import type { ScriptedServer } from '../support/scripted-server.ts'

/** Pauses and outages are real ones, and a busy machine is slower than jest's own limit. */

/** A tool as the service lists it. */
export function listed(name: string) {
  const parameters = { type: 'object', properties: {}, required: [] }
  return { type: 'function', function: { name, description: `Does ${name}.`, parameters } }
}

/** The service's answer to a list. */
export function listAnswer(
  body: unknown,
  { status = 200, ...headers }: { readonly status?: number } & Record<string, string | number> = {},
): RequestListener {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (_req, res) => res.writeHead(status, headers).end(text)
}

/** The service's answer to a request that it refuses. */
export function refusal(status: number, reason: string, message: string): RequestListener {
  return listAnswer({ error: { code: status, status: 'X', message, details: [{ reason }] } }, { status })
}

export const silence: RequestListener = () => undefined

export function toolDefs(server: ScriptedServer, options: Partial<ToolDefsOptions> = {}): ToolDefs {
  return new ToolDefs({ service: server.origin, token: 'secret-token', ...options })
}

export function namesOf(tools: readonly { readonly function: { readonly name: string } }[]): string[] {
  return tools.map((tool) => tool.function.name)
}

/** A JWT as far as a client reads it. */
export function jwt(claims: object): string {
  return `${part({ alg: 'none' })}.${part(claims)}.c2ln`
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
