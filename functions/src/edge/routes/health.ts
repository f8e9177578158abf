import { LAYERS } from '@toolrack/contract'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import type { PublicRoute } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { QueueState } from '../../fair-queue.ts'
import type { IsolationLevel, Runner, RunnerHealth } from '../../tools/modules/runner.ts'
import { VERSION } from '../../version.ts'

export type HealthParts = {
  readonly catalog: Catalog
  readonly runner: Pick<Runner, 'health'>
  readonly compilers: { readonly state: QueueState }
  readonly argumentValidator: { readonly state: QueueState }
}

/** `GET /health`: whether the service works. With a token also its layers, its queues and its runner. */
export function healthRoute({ catalog, runner, compilers, argumentValidator }: HealthParts): PublicRoute {
  return {
    method: 'GET',
    path: '/health',
    isRoot: true,
    action: 'anybody',
    async handle({ principal, res, bodies, unread }) {
      const [view, known] = await Promise.all([
        principal ? catalog.view(principal) : catalog.shared(),
        runner.health(),
      ])
      const isolation: IsolationLevel = known.status === 'ready' ? known.isolation : 'L0'
      const head = { status: statusOf(view, known), version: VERSION, isolation }
      if (!principal) return sendJson(res, 200, head)
      const layers = Object.fromEntries(LAYERS.map((layer) => [layer, layerHealth(view, layer)]))
      const queues = {
        schemas: compilers.state,
        arguments: argumentValidator.state,
        bodies: bodies.state,
        answers: unread.state,
      }
      sendJson(res, 200, { ...head, revision: view.revision, layers, queues, runner: known })
    },
  }
}

/** A runner that is absent or still starting is not a fault. */
function statusOf({ layers }: CatalogView, runner: RunnerHealth): 'ok' | 'degraded' {
  const isLost = layers.global.status !== 'fresh' || layers.file.status !== 'fresh'
  return isLost || runner.status === 'unreachable' ? 'degraded' : 'ok'
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
