import { listedTool } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { ServerProcess } from './server-process.ts'

export const LIST_PATH = '/workflows/tools/list'

export type Answer = { readonly body: Buffer; readonly etag: string; readonly layers: string }

/** Sends one request. Throws if the answer does not have the expected status. */
export async function ask(
  { url, token }: ServerProcess,
  path: string,
  expected: { readonly httpStatus: number; readonly ifNoneMatch?: string } = { httpStatus: 200 },
): Promise<Answer> {
  const { httpStatus, ifNoneMatch } = expected
  // Not `fetch`, which adds Cache-Control: no-cache to a conditional request. Express never answers this header with a 304.
  const req = get(url + path, { headers: headersFor(token, ifNoneMatch) })
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  const body = await buffer(res)
  assert.equal(res.statusCode, httpStatus, `${path}: ${body.toString('utf8', 0, 500)}`)
  return { body, etag: res.headers.etag ?? '', layers: String(res.headers['x-tools-layers']) }
}

/** The headers for every contender. All contenders read the same headers. */
export function headersFor(token = '', ifNoneMatch?: string): Record<string, string> {
  return {
    Authorization: `Bearer ${token}`,
    ...(ifNoneMatch !== undefined && { 'If-None-Match': ifNoneMatch }),
  }
}

/** Writes a list into a file for the peers. Throws unless the list has exactly these definitions. */
export async function saveList(
  server: ServerProcess,
  path: string,
  definitions: readonly ToolDefinition[],
  folder: string,
): Promise<string> {
  const { body } = await ask(server, path)
  const inOrder = definitions.toSorted((a, b) => (a.function.name < b.function.name ? -1 : 1))
  assert.deepEqual(JSON.parse(body.toString()), inOrder.map(listedTool))
  const file = join(folder, `list-${definitions.length}.json`)
  writeFileSync(file, body)
  return file
}
