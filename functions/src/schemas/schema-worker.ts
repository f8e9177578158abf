import type { JsonObject } from '@toolrack/contract'
import { parentPort } from 'node:worker_threads'
import { createSchemaCompiler } from './compile-schema.ts'

/** The worker's side: one schema text in, one report out, in order. */
const compileSchema = createSchemaCompiler()

// Reading the meta-schema takes longer than most schemas; it must not count against the first one's deadline.
compileSchema({})

parentPort?.on('message', (text: string) => {
  parentPort?.postMessage(compileSchema(JSON.parse(text) as JsonObject))
})
parentPort?.postMessage('ready')
