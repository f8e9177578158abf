import { writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { Worker } from 'node:worker_threads'

/**
 * Runs in a thread of the child process, and kills the child when its standard input ends. Only the parent keeps the input open,
 * so the input also ends if the parent is killed. A thread can react while the child's main thread is busy.
 */
const END_WITH_PARENT = `
  const { Socket } = require('node:net')
  const end = () => process.kill(process.pid, 'SIGKILL')
  new Socket({ fd: 0 }).on('error', end).on('close', end).resume()
`

/**
 * Answers the questions of a WorkerProcess. This function runs in the child process. If `report` throws, the answer is a fault.
 */
export function answerQuestions(report: (question: never) => unknown): void {
  new Worker(END_WITH_PARENT, { eval: true }).unref()
  try {
    // If the machine runs out of memory, Linux then kills this process before it kills the service.
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // The file exists only on Linux, and the system may forbid the write. V8's own memory limit still applies.
  }
  process.on('message', (question) => {
    try {
      process.send?.({ report: report(question as never) })
    } catch (error) {
      process.send?.({ fault: `(${(error as Error).message})` })
    }
  })
  process.send?.('ready')
  // Node writes the cache at the end of a process, but this process is always killed.
  flushCompileCache()
}
