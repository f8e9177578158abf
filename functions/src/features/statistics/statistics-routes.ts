import { isToolName } from '@toolrack/contract'
import { isUid, UID_RULE } from '../../access/principal.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import { EVERYBODY } from '../../documents/collection.ts'
import { callerGone } from '../../http/caller.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { route, type FoundRequest, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import { Turns } from '../../loop-turn.ts'
import type { CallCounts } from './call-counts.ts'
import { circuitsByName, type CircuitStates } from './circuits-by-name.ts'
import { HOUR_MS, hourOf } from './hour-store.ts'
import { readStatistics } from './statistics-actions.ts'
import { toolStatistics } from './tool-statistics.ts'

type Parts = {
  readonly callCounts: Pick<CallCounts, 'read'>
  readonly listed: ListedCatalog
  readonly now: () => number
  /** Undefined on a service without circuit breakers. */
  readonly circuits?: CircuitStates | undefined
}

/** How many hours each window has, before the present one. So it has at least an hour or a day, and at most one hour more. */
const HOURS_BEFORE = { hour: 1, day: 24 } as const
export type StatisticsWindow = keyof typeof HOURS_BEFORE
export const WINDOWS = Object.keys(HOURS_BEFORE) as StatisticsWindow[]

const NOT_STORED = { 'Cache-Control': 'private, no-store' }

/** `GET /tools/stats`: how often tools were called, and how well. */
export function statisticsRoutes({ callCounts, now, ...parts }: Parts): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/tools/stats',
      schemas: async () => (await import('./statistics-schemas.ts')).READ_STATISTICS,
      ask: askedStatistics,
      action: ({ uid }) => readStatistics(uid),
      async handle({ principal, asked: { window, name, uid }, res }) {
        const owner = uid ?? (principal.isAdmin ? EVERYBODY : principal.uid)
        const toMs = now()
        const fromMs = hourOf(toMs) - HOURS_BEFORE[window] * HOUR_MS
        const { tools, incompleteSinceMs } = await callCounts.read(
          owner,
          fromMs,
          toMs,
          new Turns(callerGone(res)),
        )
        const asked = name === undefined ? tools : new Map([...tools].filter(([one]) => one === name))
        const answer = {
          window,
          from: new Date(fromMs).toISOString(),
          incompleteSince: incompleteSinceMs === null ? null : new Date(incompleteSinceMs).toISOString(),
          tools: toolStatistics(asked, await circuitsByName(parts, principal, owner)),
        }
        sendJson(res, 200, answer, NOT_STORED)
      },
    }),
  ]
}

function askedStatistics({ search }: FoundRequest) {
  const query = new Query(search, ['window', 'name', 'uid'])
  const [name, uid] = [query.one('name'), query.one('uid')]
  if (name !== undefined && !isToolName(name)) throw invalidParameter('name', 'must be one tool name')
  if (uid !== undefined && !isUid(uid)) throw invalidParameter('uid', `must be a user id: ${UID_RULE}`)
  return { window: query.choice('window', WINDOWS, 'day'), name, uid }
}
