import type { VariableValues } from '../../settings/variables.ts'
import { metricsRoute } from './metrics-route.ts'
import { METRICS_SETTINGS } from './metrics-settings.ts'

type Needs = { readonly settings: VariableValues<typeof METRICS_SETTINGS> }

/** Numbers for the operator's monitoring. */
export const metrics = {
  name: 'metrics',
  settings: METRICS_SETTINGS,
  create: ({ settings }: Needs) => ({ hasLocalMetrics: settings.TOOLRACK_METRICS === 'local' }),
  routes: (parts: Parameters<typeof metricsRoute>[0]) => [metricsRoute(parts)],
}
