/** The form in which a caller wants the answer to a call: `events` while the call runs, or `json` when it has ended. */
export type CallAnswer = {
  readonly wants: 'events' | 'json'
  /** True if JSON is acceptable too. */
  readonly takesJson: boolean
}

const EVENTS = 'text/event-stream'

/** The ranges that contain JSON, the most specific first. */
const JSON_RANGES = ['application/json', 'application/*', '*/*']

/**
 * Reads an `Accept` header. JSON is the default. A caller gets events only if the header names `text/event-stream` with a higher
 * weight than `application/json`. A range with a star names neither.
 */
export function callAnswer(accept = '*/*'): CallAnswer {
  const weights = weightsOf(accept)
  const weight = weights.get(EVENTS) ?? 0
  const hasEvents = weight > 0 && weight > (weights.get('application/json') ?? 0)
  const jsonWeight = JSON_RANGES.map((range) => weights.get(range)).find((each) => each !== undefined)
  return { wants: hasEvents ? 'events' : 'json', takesJson: (jsonWeight ?? 0) > 0 }
}

/** True for a caller who wants JSON lines: the header names `application/x-ndjson`, and does not give JSON a higher weight. */
export function acceptsLines(accept = '*/*'): boolean {
  const weights = weightsOf(accept)
  const weight = weights.get('application/x-ndjson') ?? 0
  return weight > 0 && weight >= (weights.get('application/json') ?? 0)
}

/** The weight of each range, in lower case and without parameters. A weight that cannot be read is 1. */
function weightsOf(accept: string): ReadonlyMap<string, number> {
  return new Map(
    accept
      .toLowerCase()
      .split(',')
      .map((item) => {
        const [range = '', ...parameters] = item.split(';').map((part) => part.trim())
        const weight = Number(parameters.find((each) => each.startsWith('q='))?.slice(2) ?? 1)
        return [range, Number.isNaN(weight) ? 1 : weight] as const
      }),
  )
}
