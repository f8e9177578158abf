/** Why the service's own answer could not be had. */
export type LossCode =
  /** No connection, or one that broke before the answer was whole. */
  | 'NETWORK'
  /** No whole answer within the deadline. */
  | 'TIMEOUT'
  /** 429. */
  | 'BUSY'
  /** 5xx. */
  | 'FAILED'
  /** An answer that is no list of tools: HTML, another envelope. */
  | 'UNREADABLE'
  /** An empty list, and the service said that it could not read a layer. */
  | 'LAYERS_LOST'

/** Thrown where the service is lost, and caught where something else is answered. It never leaves the client. */
export class ServiceLoss extends Error {
  readonly code: LossCode
  /** For how long the service asked not to be asked again. */
  readonly retryAfterMs: number

  constructor(code: LossCode, message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.retryAfterMs = options.retryAfterMs ?? 0
  }
}

export function timedOut(deadlineMs: number): ServiceLoss {
  return new ServiceLoss('TIMEOUT', `The service did not answer within ${deadlineMs} ms.`)
}

/** The loss that a status means; undefined for one that is an answer or a refusal. */
export function lossOf(response: Response): ServiceLoss | undefined {
  const { status } = response
  const isBusy = status === 429
  if (!isBusy && status !== 408 && status < 500) return undefined
  const code = isBusy ? 'BUSY' : status === 408 ? 'TIMEOUT' : 'FAILED'
  const retryAfterMs = retryAfter(response.headers.get('Retry-After'))
  return new ServiceLoss(code, `The service answered ${status}.`, { retryAfterMs })
}

/** Seconds or a date, in milliseconds from now; 0 where it says nothing. */
function retryAfter(header: string | null): number {
  if (header === null) return 0
  const ms = Number.isNaN(Number(header)) ? Date.parse(header) - Date.now() : Number(header) * 1000
  return ms > 0 ? ms : 0
}
