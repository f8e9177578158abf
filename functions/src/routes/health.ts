import type { Request, Response } from 'express'
import { LAYERS } from '@toolrack/contract'
import type { CatalogView } from '../catalog/catalog-view.ts'
import { sendJson } from '../http/send-json.ts'
import type { Services } from '../services.ts'
import { VERSION } from '../version.ts'

/** No runner is part of this version, so no tool is executed and nothing isolates one. */
const ISOLATION = 'L0'

/** `GET /health`: whether the service works; with a token also what it works with. */
export async function health(services: Services, req: Request, res: Response): Promise<void> {
  const principal = services.authenticate(req.headers.authorization, 'workflows')
  if (!principal) {
    sendJson(res, 200, { status: statusOf(services.catalog.shared), version: VERSION, isolation: ISOLATION })
    return
  }
  const view = await services.catalog.view(principal.uid)
  const layers = Object.fromEntries(LAYERS.map((layer) => [layer, layerHealth(view, layer)]))
  sendJson(res, 200, {
    status: statusOf(view),
    version: VERSION,
    isolation: ISOLATION,
    revision: view.revision,
    layers,
  })
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
