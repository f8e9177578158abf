/** The part of autocannon that is used here. The package has no types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events'

  type Request = { path: string }
  type Options = {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly method?: 'POST'
    readonly body?: string
    readonly connections: number
    readonly duration: number
    readonly requests: readonly (Request | { setupRequest: (request: Request) => Request })[]
  }
  type Result = { errors: number; timeouts: number; duration: number; '4xx': number; '5xx': number }
  type Run = EventEmitter<{ response: [client: unknown, statusCode: number, bytes: number, ms: number] }> &
    Promise<Result>

  export default function autocannon(options: Options): Run
}
