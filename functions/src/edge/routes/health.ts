import { LAYERS } from '@toolrack/contract'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import type { PublicRoute } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { QueueState } from '../../fair-queue.ts'
import type { IsolationLevel, Runner, RunnerHealth } from '../../tools/modules/runner.ts'
import { VERSION } from '../../version.ts'

/** What has a queue that users share. */
type Queueing = { readonly state: QueueState }

export type HealthParts = {
  readonly catalog: Catalog
  readonly runner: Pick<Runner, 'health'>
  readonly compilers: Queueing
  readonly argumentValidator: Queueing
}

/** `GET /health`: whether the service works; with a token also what it works with. */
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
      const head = { status: statusOf(view, known), version: VERSION, isolation: isolationOf(known) }
      if (!principal) {
        sendJson(res, 200, head)
        return
      }
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
