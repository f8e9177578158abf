import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { killKept, marker } from './kept-processes.mjs'

/**
 * `node keeper.mjs <program> <arguments>` runs one program. When the program ends, kills every process that it started.
 * After a signal, or when the parent-death pipe on descriptor 3 closes, the program gets one SIGINT and `patienceMs` to
 * end by itself. Processes remain only if both this process and its parent get a SIGKILL.
 */
const patienceMs = 15_000

const [program, ...args] = process.argv.slice(2)
const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
let isStopping = false

function stop() {
  if (isStopping) return
  isStopping = true
  child.kill('SIGINT')
  setTimeout(end, patienceMs, 1)
}

function end(code) {
  killKept(process.env[marker])
  process.exit(code)
}

// A file stream would read the pipe in a thread, and this process could not end while that thread waits.
new Socket({ fd: 3 })
  .on('error', () => {})
  .on('close', stop)
  .resume()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
child.once('error', () => end(127))
child.once('exit', (code) => end(code ?? 1))
