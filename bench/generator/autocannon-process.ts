import autocannon from 'autocannon'
import { text } from 'node:stream/consumers'
import { percentile } from '../measure/median.ts'
import type { Load } from './generator.ts'

/** Runs in the generator's process. Reads a load from standard input, and prints the result as one line of JSON. */
const { url, paths, headers, body, connections, seconds } = JSON.parse(await text(process.stdin)) as Load
const [only, ...more] = paths.map((path) => ({ path }))
let next = 0

/** autocannon reports only whole milliseconds, so every answer is timed here. */
const latenciesUs: number[] = []
const run = autocannon({
  url,
  headers,
  ...(body !== undefined && { method: 'POST' as const, body }),
  connections,
  duration: seconds,
  requests: [
    only && more.length === 0
      ? only
      : { setupRequest: (request) => ({ ...request, path: paths[next++ % paths.length] ?? '/' }) },
  ],
})
void run.on('response', (_client, _statusCode, _bytes, responseMs) => latenciesUs.push(responseMs * 1_000))
const { errors, timeouts, duration, '4xx': refused, '5xx': failed } = await run

const { user, system } = process.cpuUsage()
console.log(
  JSON.stringify({
    requestsPerSecond: latenciesUs.length / duration,
    p50Us: percentile(latenciesUs, 0.5),
    p99Us: percentile(latenciesUs, 0.99),
    cpuMs: (user + system) / 1_000,
    errors: errors + timeouts + refused + failed,
  }),
)
