import { parsedJson } from '@toolrack/contract'
import { ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime } from './in-time.ts'
import { Service, withNetworkErrors, type ServiceOptions } from './service.ts'

export type JsonServiceOptions = Omit<ServiceOptions, 'session'> & {
  /** The longest wait for an answer, in milliseconds. The default is 10,000. */
  readonly deadlineMs?: number | undefined
}

/** Sends requests whose answers are JSON, each with a deadline. */
export class JsonService {
  readonly #service: Service
  readonly #deadlineMs: number

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor({ deadlineMs = 10_000, ...service }: JsonServiceOptions) {
    this.#service = new Service(service)
    this.#deadlineMs = deadlineMs
  }

  /** The address of a path that is relative to that of the tools. */
  addressOf(path: string): string {
    return this.#service.addressOf(path)
  }

  /**
   * Resolves to the answer, which is undefined for a 204. `path` is relative to that of the tools. Rejects with TOKEN_FAILED,
   * SERVICE_REFUSED or SERVICE_UNAVAILABLE.
   */
  ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const json = body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }
    return this.send({ method, ...json }, path, jsonIn<Answer>)
  }

  /** Sends a request with any body, and resolves to what `read` makes of the answer. Rejects with the same errors as `ask`. */
  async send<Answer>(
    init: Pick<RequestInit, 'method' | 'body'> & { readonly headers?: Record<string, string> },
    path: string,
    read: (response: Response, signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await inTime(
        this.#deadlineMs,
        () => timedOut(this.#deadlineMs),
        async (signal) => {
          const token = await this.#service.token()
          const { response } = await this.#service.ask(path, token, signal, () => init)
          return read(response, signal)
        },
      )
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause
      throw new ToolsError('SERVICE_UNAVAILABLE', cause.message, { cause })
    }
  }
}

/** Reads an answer of JSON. It is undefined for a 204. */
export async function jsonIn<Answer>(response: Response, signal: AbortSignal): Promise<Answer> {
  const answer = parsedJson(await withNetworkErrors(signal, () => response.text()))
  if (answer === undefined && response.status !== 204) throw new ServiceError('UNREADABLE', NOT_THERE)
  return answer as Answer
}

const NOT_THERE = 'The answer did not come from the service.'
