import { isToolrackError, LAYERS } from '@toolrack/contract'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '../access/principal.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import { sendJson } from '../http/send-json.ts'
import type { IsolationLevel, RunnerHealth } from '../invoke/runner.ts'
import type { Services } from '../services.ts'
import { VERSION } from '../version.ts'

/** `GET /health`: whether the service works; with a token also what it works with. */
export async function health(services: Services, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const principal = await principalOf(services, req)
  const { catalog } = services
  const [view, runner] = await Promise.all([
    principal ? catalog.view(principal) : catalog.shared(),
    services.runner.health(),
  ])
  const head = { status: statusOf(view, runner), version: VERSION, isolation: isolationOf(runner) }
  if (!principal) {
    sendJson(res, 200, head)
    return
  }
  const layers = Object.fromEntries(LAYERS.map((layer) => [layer, layerHealth(view, layer)]))
  sendJson(res, 200, {
    ...head,
    revision: view.revision,
    layers,
    runner,
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

/** A runner that is not wanted, or not there yet, is nothing to be alarmed at. */
function statusOf({ layers }: CatalogView, runner: RunnerHealth): 'ok' | 'degraded' {
  const isLost = layers.global.status !== 'fresh' || layers.file.status !== 'fresh'
  return isLost || runner.status === 'unreachable' ? 'degraded' : 'ok'
}

/** Without a runner no tool is executed and nothing isolates one. */
function isolationOf(runner: RunnerHealth): IsolationLevel {
  return runner.status === 'ready' ? runner.isolation : 'L0'
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
