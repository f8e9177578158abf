import { writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { Worker } from 'node:worker_threads'

/**
 * The program of a thread in the child process. It kills the child when standard input ends. Only the parent keeps this input
 * open, so it also ends if the parent is killed. A thread can react while the child's main thread is busy.
 */
const END_WITH_PARENT = `
  const { Socket } = require('node:net')
  const end = () => process.kill(process.pid, 'SIGKILL')
  new Socket({ fd: 0 }).on('error', end).on('close', end).resume()
`

/** Answers the questions that a WorkerProcess sends. Runs in the child process. If `report` throws, the answer is a fault. */
export function answerQuestions(report: (question: never) => unknown): void {
  new Worker(END_WITH_PARENT, { eval: true }).unref()
  try {
    // When memory runs out, Linux then kills this process before it kills the service.
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // The file exists only on Linux, and the system may forbid the write. Without it, V8's own memory limit still applies.
  }
  process.on('message', (question) => {
    try {
      process.send?.({ report: report(question as never) })
    } catch (error) {
      process.send?.({ fault: `(${(error as Error).message})` })
    }
  })
  process.send?.('ready')
  // Node writes the compile cache when a process ends by itself, but this process is always killed.
  flushCompileCache()
}
