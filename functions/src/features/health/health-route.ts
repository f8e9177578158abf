import { LAYERS, type Layer } from '@toolrack/contract'
import type { RulesStatus } from '../rules/rule-book.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { PublicRoute } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import type { IsolationLevel, RunnerHealth } from '../../catalog/definitions/runner.ts'
import { VERSION } from '../../version.ts'
import type { QueueState } from '../../fair-queue.ts'
import type { LoopWatch } from '../../loop-watch.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { Runner } from '../../catalog/definitions/runner.ts'
import type { Agents } from '../agents/agents.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { OptionalCounts } from '../metrics/service-metrics.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { CallCounts } from '../statistics/call-counts.ts'

/** The parts from which the public facts about the health are made. */
export type PublicHealthParts = {
  readonly catalog: Catalog
  readonly ruleBook: RuleBook
  readonly runner: Runner
}

type HealthParts = PublicHealthParts &
  OptionalCounts & {
    readonly compilers: { readonly state: QueueState }
    readonly argumentValidator: { readonly state: QueueState }
    readonly audit?: AuditTrail | undefined
    readonly agents: Agents
    readonly loopWatch: Pick<LoopWatch, 'delays'>
    readonly callCounts: Pick<CallCounts, 'state'>
  }

/**
 * `GET /health`: says whether the service works. With a token, the answer also has the layers, the queues and the runner. An
 * admin also reads whose work has delayed the requests of others.
 */
export function healthRoute(parts: HealthParts): PublicRoute {
  const { catalog, ruleBook, runner, compilers, argumentValidator, audit, agents, loopWatch } = parts
  return {
    method: 'GET',
    path: '/health',
    schemas: async () => (await import('./health-schemas.ts')).HEALTH,
    isRoot: true,
    action: 'anybody',
    async handle({ principal, res, bodies, unread }) {
      const [view, known, rules] = await Promise.all([
        principal ? catalog.view(principal) : catalog.shared(),
        runner.health(),
        ruleBook.status(principal),
      ])
      const head = headOf(view, known, rules)
      if (!principal) return sendJson(res, 200, head)
      const layers = Object.fromEntries(LAYERS.map((layer) => [layer, layerHealth(view.layers[layer])]))
      const files = await agents.files.read()
      const queues = {
        schemas: compilers.state,
        arguments: argumentValidator.state,
        bodies: bodies.state,
        answers: unread.state,
      }
      const records = audit
        ? { ...audit.state, ...(principal.isAdmin && { fault: audit.fault }) }
        : { mode: 'off' }
      sendJson(res, 200, {
        ...head,
        revision: view.revision,
        layers,
        rules,
        agents: { inFiles: files.agents.size, skipped: files.skipped },
        queues,
        runner: known,
        audit: records,
        ...(principal.isAdmin && { delays: loopWatch.delays, ...countsIn(parts) }),
      })
    },
  }
}

/** The numbers of calls, circuits, limits and artifacts, of those features that the service has. */
function countsIn({ callCounts, circuits, callLimiter, artifacts }: HealthParts) {
  const { waiting, downSinceMs } = callCounts.state
  return {
    statistics: { waiting, failingSince: downSinceMs === null ? null : new Date(downSinceMs).toISOString() },
    ...(circuits && { circuits: circuits.counts() }),
    ...(callLimiter && { limits: callLimiter.state }),
    ...(artifacts && { artifacts: artifacts.counts }),
  }
}

/** The facts about the health that everybody may read. */
export type PublicHealth = ReturnType<typeof headOf>

export async function publicHealth({ catalog, ruleBook, runner }: PublicHealthParts): Promise<PublicHealth> {
  return headOf(...(await Promise.all([catalog.shared(), runner.health(), ruleBook.status()])))
}

function headOf(view: CatalogView, runner: RunnerHealth, rules: RulesStatus) {
  const isolation: IsolationLevel = runner.status === 'ready' ? runner.isolation : 'L0'
  return { status: statusOf(view, runner, rules), version: VERSION, isolation }
}

/** A runner that is absent or still starting does not make the status `degraded`. */
function statusOf({ layers }: CatalogView, runner: RunnerHealth, rules: RulesStatus): 'ok' | 'degraded' {
  const isLost = rules !== 'fresh' || layers.global.status !== 'fresh' || layers.file.status !== 'fresh'
  return isLost || runner.status === 'unreachable' ? 'degraded' : 'ok'
}

function layerHealth({ status, snapshot }: CatalogView['layers'][Layer]) {
  return {
    status,
    definitions: snapshot?.byName.size ?? 0,
    revision: snapshot?.revision ?? null,
    skipped: snapshot?.skipped ?? [],
  }
}
