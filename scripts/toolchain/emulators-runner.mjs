import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePorts } from './ports.mjs'

/**
 * Starts the Python runner for functions on the emulators, and again whenever it ends. The `env` of the result tells the
 * functions its endpoint. The runner ends with `stop()`, with `signal`, and when this process ends, even by SIGKILL: it
 * has a parent-death pipe.
 */
export async function startRunner({ root, node, python, signal, onOutput = () => {} }) {
  const [port] = await freePorts(1)
  const env = {
    RUNNER_URL: `http://127.0.0.1:${port}`,
    RUNNER_SECRET: randomBytes(32).toString('base64url'),
  }
  const program = join(root, 'functions/src/hosts/local/runner-cli.ts')
  const args = ['--disable-warning=ExperimentalWarning', program, `--python=${python}`, '--parent-pipe=3']
  const child = spawn(node, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    // A Ctrl-C in the terminal reaches it only through this process.
    detached: true,
  })
  child.stderr.setEncoding('utf8').on('data', onOutput)
  child.stdio[3].on('error', () => {})
  const closed = once(child, 'close')
  const ended = once(child, 'exit').then(() => {
    child.stdio[3].destroy()
    return closed
  })

  async function stop() {
    child.kill('SIGTERM')
    await ended
  }
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) child.kill('SIGTERM')
  return { env, pid: child.pid, stop, ended }
}
