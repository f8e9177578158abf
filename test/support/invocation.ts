import type { InvocationResult } from '@toolrack/contract'
import type { Server } from './server.ts'

export type InvokeBody = {
  readonly name?: unknown
  readonly arguments?: unknown
  readonly [field: string]: unknown
}

/** The unchanged answer to one call. */
export function invoke(
  server: Pick<Server, 'fetch'>,
  body: unknown,
  init: RequestInit & { family?: string } = {},
): Promise<Response> {
  const { family = 'workflows', ...rest } = init
  return server.fetch(`/${family}/tools/invoke`, { method: 'POST', body: JSON.stringify(body), ...rest })
}

/** The status and the result of one call. */
export async function invoked(
  server: Pick<Server, 'fetch'>,
  name: string,
  args: unknown = {},
  more: object = {},
): Promise<readonly [number, InvocationResult]> {
  const answer = await invoke(server, { name, arguments: args, ...more })
  return [answer.status, (await answer.json()) as InvocationResult]
}
