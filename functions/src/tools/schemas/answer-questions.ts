import { writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/**
 * Run by a thread of the child: ends the whole child when its input ends, which only the parent holds open. The child's main
 * thread may be busy for ever and hear of nothing, and a parent that was killed has told nobody.
 */
const END_WITH_PARENT = `
  const { Socket } = require('node:net')
  const end = () => process.kill(process.pid, 'SIGKILL')
  new Socket({ fd: 0 }).on('error', end).on('close', end).resume()
`

/**
 * The child's side of a WorkerProcess: one question in, one report out, in order. A question at which `report` throws is
 * answered with the sentence of the error.
 */
export function answerQuestions(report: (question: never) => unknown): void {
  new Worker(END_WITH_PARENT, { eval: true }).unref()
  beFirstToGo()
  process.on('message', (question) => {
    try {
      process.send?.({ report: report(question as never) })
    } catch (error) {
      process.send?.({ fault: `(${(error as Error).message})` })
    }
  })
  process.send?.('ready')
}

/** Where the machine or the container has no memory left, Linux ends this process before the one that serves. */
function beFirstToGo(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // Another system, or one that does not let it: V8's own limit holds all the same.
  }
}
