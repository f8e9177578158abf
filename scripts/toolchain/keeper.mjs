import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { killKept, marker } from './kept-processes.mjs'

/**
 * Keeps one program and whatever it starts: `node keeper.mjs <program> <arguments>`, in a session of its own, with a
 * mark in its environment and a pipe on descriptor 3 that nobody writes to. When the other end of the pipe goes, however
 * it went, or a signal comes, the program gets one SIGINT and time to end by itself; then all that carries the mark is
 * killed. Only who kills this process and its parent, both with SIGKILL, leaves something behind.
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

// A file stream would read the pipe in a thread, and the process would wait for that thread when it wants to leave.
new Socket({ fd: 3 })
  .on('error', () => {})
  .on('close', stop)
  .resume()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
child.once('error', () => end(127))
child.once('exit', (code) => end(code ?? 1))
