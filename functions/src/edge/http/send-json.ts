import type { ServerResponse } from 'node:http'

const HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
} as const

/** Sends a value as JSON. Errors are never cached, by nobody. */
export function sendJson(
  res: ServerResponse,
  httpStatus: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  const body = Buffer.from(`${JSON.stringify(value)}\n`)
  const caching = httpStatus >= 400 ? { 'Cache-Control': 'private, no-store' } : {}
  res.writeHead(httpStatus, { ...HEADERS, ...caching, ...headers, 'Content-Length': String(body.length) })
  res.end(body)
}
