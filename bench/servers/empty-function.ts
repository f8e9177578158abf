import { onRequest } from 'firebase-functions/https'
import { readFileSync } from 'node:fs'

/** The empty handler: a function that only sends one Buffer. */
const body = readFileSync(process.env['BENCH_BODY'] ?? '')
const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.length }

export const empty = onRequest((_req, res) => {
  res.writeHead(200, headers).end(body)
})
