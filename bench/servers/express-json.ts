import express from 'express'
import { readFileSync } from 'node:fs'
import { announceApp } from './announce.ts'

/** The usual handler: `res.json` of the value. Express makes the ETag and the 304. */
const [, , path, file] = process.argv
const value: unknown = JSON.parse(readFileSync(file ?? '', 'utf8'))

const app = express()
app.get(path ?? '/', (_req, res) => {
  res.json(value)
})
announceApp(app)
