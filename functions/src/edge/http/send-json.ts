import type { ServerResponse } from 'node:http'
import { jsonOf } from '../../tools/json/json-text.ts'
import { holdAnswer } from './unread-answers.ts'

export const JSON_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
} as const

/**
 * Sends a value as JSON, each JsonText in it as its text. Errors are never cached, by nobody. Throws SERVICE_BUSY where too much
 * waits for the reader of a GET.
 */
export function sendJson(
  res: ServerResponse,
  httpStatus: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  const body = Buffer.from(`${jsonOf(value)}\n`)
  const caching = httpStatus >= 400 ? { 'Cache-Control': 'private, no-store' } : {}
  holdAnswer(res, body.length)
  res.writeHead(httpStatus, {
    ...JSON_HEADERS,
    ...caching,
    ...headers,
    'Content-Length': String(body.length),
  })
  res.end(body)
}
