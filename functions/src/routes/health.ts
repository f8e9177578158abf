import { isToolrackError, LAYERS } from '@toolrack/contract'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '../access/principal.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import { sendJson } from '../http/send-json.ts'
import type { Services } from '../services.ts'
import { VERSION } from '../version.ts'

/** No runner is part of this version, so no tool is executed and nothing isolates one. */
const ISOLATION = 'L0'

/** `GET /health`: whether the service works; with a token also what it works with. */
export async function health(services: Services, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const principal = await principalOf(services, req)
  if (!principal) {
    const status = statusOf(await services.catalog.shared())
    sendJson(res, 200, { status, version: VERSION, isolation: ISOLATION })
    return
  }
  const view = await services.catalog.view(principal)
  const layers = Object.fromEntries(LAYERS.map((layer) => [layer, layerHealth(view, layer)]))
  sendJson(res, 200, {
    status: statusOf(view),
    version: VERSION,
    isolation: ISOLATION,
    revision: view.revision,
    layers,
  })
}

/** Whoever can't be known, for whatever reason, gets the public answer: a probe must not fail by its token. */
async function principalOf({ authenticate }: Services, req: IncomingMessage): Promise<Principal | undefined> {
  const { authorization } = req.headers
  try {
    return await authenticate({ authorization, userId: undefined, family: 'workflows' })
  } catch (error) {
    if (isToolrackError(error)) return undefined
    throw error
  }
}

function statusOf(view: CatalogView): 'ok' | 'degraded' {
  return view.layers.global.status === 'fresh' && view.layers.file.status === 'fresh' ? 'ok' : 'degraded'
}

function layerHealth(view: CatalogView, layer: (typeof LAYERS)[number]) {
  const { status, snapshot } = view.layers[layer]
  return {
    status,
    definitions: snapshot?.byName.size ?? 0,
    revision: snapshot?.revision ?? null,
    skipped: snapshot?.skipped ?? [],
  }
}
