import { parentPort } from 'node:worker_threads'
import type { ArgumentQuestion } from './argument-checker.ts'
import { createArgumentValidator } from './validate-arguments.ts'

/** The worker's side: one definition and its arguments in, one report out, in order. */
const validateArguments = createArgumentValidator()

parentPort?.on('message', (question: ArgumentQuestion) => {
  parentPort?.postMessage(validateArguments(question))
})
parentPort?.postMessage('ready')
