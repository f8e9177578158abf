import express from 'express'
import { readFileSync } from 'node:fs'
import { announceApp } from './announce.ts'

/** The empty handler: an app that only sends one Buffer, or a 304 if it has no Buffer. */
const [, , path, file] = process.argv
const body = file === undefined ? undefined : readFileSync(file)
const headers: Record<string, string | number> = body
  ? { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.length }
  : {}

const app = express()
app.disable('x-powered-by')
app.get(path ?? '/', (_req, res) => {
  res.writeHead(body ? 200 : 304, headers).end(body)
})
announceApp(app)
