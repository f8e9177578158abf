import type { ServerResponse } from 'node:http'
import { ALLOWED, deny, type Action } from '../../access/action.ts'
import { refuseParameters } from '../../http/query.ts'
import { route, type FoundRequest, type TableRow } from '../../http/route.ts'
import { holdAnswer } from '../../http/unread-answers.ts'
import { isOfThisMachine } from './is-of-this-machine.ts'
import { METRICS_TYPE, metricsText } from './metrics-text.ts'
import { serviceMetrics, type MetricsParts } from './service-metrics.ts'

type Parts = MetricsParts & {
  /** True if programs of the same machine need no token. */
  readonly hasLocalMetrics: boolean
}

const READ_METRICS: Action = {
  verb: 'read-metrics',
  decide: ({ isAdmin, grant }) => (isAdmin && !grant ? ALLOWED : deny('Only an admin may read the metrics.')),
}

const ROW = {
  method: 'GET',
  path: '/metrics',
  schemas: async () => (await import('./metrics-schemas.ts')).READ_METRICS,
  isRoot: true,
} as const

/** `GET /metrics`: numbers about this process, in the text format of Prometheus. */
export function metricsRoute(parts: Parts): TableRow {
  async function handle({ res, bodies, unread }: FoundRequest): Promise<void> {
    send(res, metricsText(await serviceMetrics(parts, { bodies, unread })))
  }

  if (!parts.hasLocalMetrics) return route({ ...ROW, ask: refuseParameters, action: READ_METRICS, handle })
  return {
    ...ROW,
    action: 'anybody',
    needs: ({ req }) => (isOfThisMachine(req) ? undefined : READ_METRICS),
    handle(request) {
      refuseParameters(request)
      return handle(request)
    },
  }
}

function send(res: ServerResponse, text: string): void {
  const body = Buffer.from(text)
  holdAnswer(res, body.length)
  const headers = {
    'Content-Type': METRICS_TYPE,
    'Content-Length': String(body.length),
    'Cache-Control': 'no-store',
  }
  res.writeHead(200, { ...headers, 'X-Content-Type-Options': 'nosniff' }).end(body)
}
