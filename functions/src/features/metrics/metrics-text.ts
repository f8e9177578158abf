/** The labels of a sample. Their values come from the service itself, so there are few, and none needs to be escaped. */
export type Labels = Readonly<Record<string, string>>

export type Sample = readonly [labels: Labels, value: number]

/** A metric. `suffix` names the samples of a histogram that are not its main ones, such as `_sum`. */
export type Metric = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'untyped'
  readonly help: string
  readonly samples: readonly (Sample | readonly [...Sample, suffix: string])[]
}

/** The media type of the text. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Writes metrics in the text format of Prometheus. Metrics without samples are left out. */
export function metricsText(metrics: readonly Metric[]): string {
  const shown = metrics.filter(({ samples }) => samples.length > 0)
  return shown
    .map(({ name, type, help, samples }) => {
      const lines = samples.map(
        ([labels, value, suffix = '']) => `${name}${suffix}${labelsText(labels)} ${value}`,
      )
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
    })
    .join('')
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** A metric with one value and no labels. */
export function single(name: string, type: 'counter' | 'gauge', help: string, value: number): Metric {
  return { name, type, help, samples: [[{}, value]] }
}
