/** How a caller wants the answer to a call. `events`: as a stream while the call runs. `json`: when the call has ended. */
export type CallAnswer = {
  readonly wants: 'events' | 'json'
  /** True if JSON is acceptable too. */
  readonly takesJson: boolean
}

const EVENTS = 'text/event-stream'

/** The media ranges that include JSON, the most specific first. */
const JSON_RANGES = ['application/json', 'application/*', '*/*']

/**
 * Reads an `Accept` header. The default is JSON. A caller gets events only if the header names `text/event-stream` with a higher
 * weight than `application/json`. A range with a star, such as `text/*`, counts for neither of the two.
 */
export function callAnswer(accept = '*/*'): CallAnswer {
  const weights = weightsOf(accept)
  const weight = weights.get(EVENTS) ?? 0
  const hasEvents = weight > 0 && weight > (weights.get('application/json') ?? 0)
  const jsonWeight = JSON_RANGES.map((range) => weights.get(range)).find((each) => each !== undefined)
  return { wants: hasEvents ? 'events' : 'json', takesJson: (jsonWeight ?? 0) > 0 }
}

/**
 * True if the caller wants JSON lines: the header names `application/x-ndjson` with at least the weight of `application/json`.
 */
export function acceptsLines(accept = '*/*'): boolean {
  const weights = weightsOf(accept)
  const weight = weights.get('application/x-ndjson') ?? 0
  return weight > 0 && weight >= (weights.get('application/json') ?? 0)
}

/**
 * The weight of each media range in the header. The ranges are in lower case and without parameters. A weight that cannot be read
 * counts as 1.
 */
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
