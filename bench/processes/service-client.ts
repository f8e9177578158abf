import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Address } from '../servers/announce.ts'
import { keepAliveClient } from './keep-alive-client.ts'

export type ServiceClient = {
  /** Sends JSON. Throws if a call has failed, because a failure would be measured as a quick answer. */
  readonly send: (path: string, body: unknown) => Promise<unknown>
  readonly invoke: (call: ToolCall) => Promise<unknown>
  readonly dispatch: (calls: readonly ToolCall[]) => Promise<unknown>
  readonly close: () => void
}

export type ToolCall = { readonly name: string; readonly arguments: unknown }

/** How long to wait until a child of a reused tool has rested and can serve its next call. */
const REST_MS = 50
const TRIES = 10

/** Opens a connection to a service. If the service closes it because it is idle, the next request opens another. */
export async function serviceClient({ url, token = '' }: Address): Promise<ServiceClient> {
  const port = Number(new URL(url).port)
  let client = await keepAliveClient(port, token)
  async function send(path: string, body: unknown): Promise<unknown> {
    if (!client.isOpen()) client = await keepAliveClient(port, token)
    const answer = await client.send('POST', path, body)
    const text = JSON.stringify(answer)
    assert.ok(!text.includes('"resultType":"failure"'), text)
    return answer
  }
  return {
    send,
    invoke: (call) => send('/workflows/tools/invoke', call),
    dispatch: (calls) =>
      send(
        '/workflows/tools/dispatch',
        calls.map(({ name, arguments: args }, id) => ({ functionCall: { id: String(id), name, args } })),
      ),
    close: () => client.close(),
  }
}

/** Uploads a module of one file. */
export async function uploadModule(
  { url, token = '' }: Address,
  module: string,
  source: string,
): Promise<void> {
  const answer = await fetch(`${url}/workflows/tools/modules/${module}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}` },
    body: new TextEncoder().encode(source),
  })
  assert.equal(answer.status, 201, await answer.text())
}

/** True if one process serves several calls of a tool whose spec asks for this. */
export async function isReused(client: ServiceClient, call: ToolCall): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { meta } = (await client.invoke(call)) as { meta: { reused?: number } }
    if (meta.reused !== undefined && meta.reused > 0) return true
    await pause(REST_MS)
  }
  return false
}
