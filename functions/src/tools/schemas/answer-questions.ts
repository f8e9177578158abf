import { writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/**
 * Runs in a thread of the child and ends the child when its input ends. Only the parent holds the input open, so this
 * also works after the parent was killed, and while the child's main thread is busy.
 */
const END_WITH_PARENT = `
  const { Socket } = require('node:net')
  const end = () => process.kill(process.pid, 'SIGKILL')
  new Socket({ fd: 0 }).on('error', end).on('close', end).resume()
`

/** The child's side of a WorkerProcess. It answers one question after the other. An error of `report` becomes a fault. */
export function answerQuestions(report: (question: never) => unknown): void {
  new Worker(END_WITH_PARENT, { eval: true }).unref()
  preferToBeKilled()
  process.on('message', (question) => {
    try {
      process.send?.({ report: report(question as never) })
    } catch (error) {
      process.send?.({ fault: `(${(error as Error).message})` })
    }
  })
  process.send?.('ready')
}

/** Linux, when it is out of memory, then kills this process before the service. */
function preferToBeKilled(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // Another system, or one that forbids it. V8's own limit holds all the same.
  }
}
