import type { JsonObject, ListedTool } from '@toolrack/contract'
import type { Server } from './server.ts'

/** A small valid definition. */
export function tool(name: string, description = 'Does one small thing.', more: JsonObject = {}): JsonObject {
  const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  return { type: 'function', function: { name, description, parameters }, ...more }
}

export function put(
  server: Server,
  name: string,
  body: unknown,
  init: RequestInit & { layer?: string } = {},
) {
  const { layer = 'user', ...rest } = init
  return server.fetch(`/workflows/tools/defs/${encodeURIComponent(name)}?layer=${layer}`, {
    method: 'PUT',
    body: JSON.stringify(body),
    ...rest,
  })
}

export function post(server: Server, body: unknown, query = 'layer=user'): Promise<Response> {
  return server.fetch(`/workflows/tools/defs?${query}`, { method: 'POST', body: JSON.stringify(body) })
}

export function remove(
  server: Server,
  name: string,
  layer = 'user',
  headers: Record<string, string> = {},
): Promise<Response> {
  const path = `/workflows/tools/defs/${encodeURIComponent(name)}?layer=${layer}`
  return server.fetch(path, { method: 'DELETE', headers })
}

export async function list(server: Server, query = ''): Promise<readonly ListedTool[]> {
  const answer = await server.fetch(`/workflows/tools/list?${query}`)
  if (answer.status !== 200) throw new Error(`the list answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as ListedTool[]
}

export async function listedNames(server: Server, query = ''): Promise<readonly string[]> {
  return (await list(server, query)).map((listed) => listed.function.name)
}
