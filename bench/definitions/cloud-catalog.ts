import { Firestore } from '@google-cloud/firestore'
import { listedTool } from '@toolrack/contract'
import type { Digest, ToolDefinition } from '@toolrack/contract'
import assert from 'node:assert/strict'
import { BULK_MAX } from '../../functions/src/catalog/definitions/definition-writer.ts'
import type { Address } from '../servers/announce.ts'
import type { Emulators } from '../processes/emulators.ts'

type Layer = 'user' | 'global' | 'file'

/** Writes definitions into a layer of a running service, as the user of the server's token. */
export async function putDefinitions(
  server: Address,
  layer: 'user' | 'global',
  definitions: readonly ToolDefinition[],
): Promise<void> {
  for (let start = 0; start < definitions.length; start += BULK_MAX) {
    const bulk = definitions.slice(start, start + BULK_MAX)
    await send(server, 'POST', `/workflows/tools/defs?layer=${layer}`, bulk)
  }
}

/** Gets a job token for every tool of these layers. Together, the layers may have at most 64 tools. */
export async function mintToken(server: Address, layers: readonly Layer[]): Promise<string> {
  type Item = { readonly name: string; readonly digest: Digest }
  const tools: Item[] = []
  for (const layer of layers) {
    const { items } = await send<{ items: readonly Item[] }>(
      server,
      'GET',
      `/workflows/tools/defs?layer=${layer}`,
    )
    tools.push(...items.map(({ name, digest }) => ({ name, digest })))
  }
  const minted = { workflowId: 'bench', tools, ttl: 600 }
  return (await send<{ token: string }>(server, 'POST', '/workflows/jobs/tokens', minted)).token
}

/** Writes each listed tool, as one document, into the collection that `servers/typical-function.ts` reads. */
export async function putCollection(
  { project, firestore: host }: Emulators,
  definitions: readonly ToolDefinition[],
): Promise<void> {
  // The emulator needs no credentials. A search for credentials would only log a warning.
  process.env['METADATA_SERVER_DETECTION'] ??= 'none'
  const firestore = new Firestore({
    projectId: project,
    host,
    ssl: false,
    customHeaders: { Authorization: 'Bearer owner' },
  })
  const writer = firestore.bulkWriter()
  for (const definition of definitions)
    void writer.set(firestore.collection('catalog').doc(definition.function.name), listedTool(definition))
  await writer.close()
  await firestore.terminate()
}

/** Sends JSON and reads the JSON of the answer. Rejects unless the status is 2xx. */
export async function send<T>(
  { url, token = '' }: Address,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
): Promise<T> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const answer = await fetch(url + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text.slice(0, 500)}`)
  return JSON.parse(text) as T
}
