import type { JsonValue } from '@toolrack/contract'
import { authorise } from '../access/authorise.ts'
import { storedLayer } from '../definitions/definition-writer.ts'
import { keptVersions } from '../definitions/kept-versions.ts'
import { Query } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'

/** `GET /tools/defs/{name}/versions`: what a definition was, the newest first; a deletion is a version without content. */
export async function listVersions({ services, principal, search, name, res }: RouteRequest): Promise<void> {
  authorise(principal, { verb: 'read-versions' })
  const layer = writtenLayer(new Query(search, ['layer']))
  const versions = await keptVersions(services.store, storedLayer(layer, principal.uid), name)
  const items = versions.map(({ revision, digest, text, at, by }) => ({
    revision,
    at,
    by,
    deleted: text === undefined,
    ...(digest !== undefined && { digest }),
    ...(text !== undefined && { definition: JSON.parse(text) as JsonValue }),
  }))
  sendJson(res, 200, { name, layer, items })
}
