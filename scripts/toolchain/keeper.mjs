import { spawn } from 'node:child_process'
import { Socket } from 'node:net'

/**
 * Keeps one program and whatever it starts: `node keeper.mjs <program> <arguments>`, as the leader of a process group,
 * with a pipe on descriptor 3 that nobody writes to. When the other end of the pipe goes, however it went, or a signal
 * comes, the program gets one SIGINT and time to end by itself; then the whole group is killed. What kills this
 * process itself with SIGKILL is the one thing that it can not clean up after.
 */
const patienceMs = 15_000

const [program, ...args] = process.argv.slice(2)
const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
let isAlone = false
let isStopping = false

function stop() {
  if (isStopping) return
  isStopping = true
  child.kill('SIGINT')
  setTimeout(end, patienceMs, 1)
}

/** Who started us sweeps the group after us; if they have gone, nobody else does, and our own exit code is of no use. */
function end(code) {
  if (isAlone) process.kill(-process.pid, 'SIGKILL')
  process.exit(code)
}

// A file stream would read the pipe in a thread, and the process would wait for that thread when it wants to leave.
new Socket({ fd: 3 })
  .on('error', () => {})
  .on('close', () => {
    isAlone = true
    stop()
  })
  .resume()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
child.once('error', () => end(127))
child.once('exit', (code) => end(code ?? 1))
