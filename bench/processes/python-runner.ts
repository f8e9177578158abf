import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createInterface } from 'node:readline'
import { keepAliveClient } from './keep-alive-client.ts'
import type { KeepAliveClient } from './keep-alive-client.ts'

/** The folder of the runner's program. */
export const RUNNER = fileURLToPath(new URL('../../python-runner', import.meta.url))

export type PythonRunner = {
  readonly pid: number
  /** The isolation level that the runner measured when it started. */
  readonly isolation: string
  /** Opens a new connection. */
  readonly connect: () => Promise<KeepAliveClient>
  /** The variables that tell a service the endpoint and the secret of this runner. */
  readonly address: { readonly RUNNER_URL: string; readonly RUNNER_SECRET: string }
}

export type StartedRunner = {
  readonly pid: number
  readonly address: PythonRunner['address']
  readonly connect: () => Promise<KeepAliveClient>
  /** Resolves when the runner has ended. A second call changes nothing. */
  readonly stop: () => Promise<void>
}

/** Calls `work` with a runner that has measured its isolation. Stops the runner when the work ends. */
export async function withRunner<T>(
  python: string,
  work: (runner: PythonRunner) => Promise<T>,
  env: NodeJS.ProcessEnv = {},
): Promise<T> {
  const { pid, address, connect, stop } = await startRunner(python, [RUNNER, '--parent=stdin'], env)
  try {
    const client = await connect()
    const { isolation } = (await client.send('GET', '/health')) as { isolation: string }
    client.close()
    return await work({ pid, isolation, connect, address })
  } finally {
    await stop()
  }
}

/** Starts a Python program that prints its endpoint in its first line. The runner answers when it has measured its isolation. */
export async function startRunner(
  python: string,
  program: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<StartedRunner> {
  const secret = randomBytes(16).toString('hex')
  const child = spawn(python, ['-I', ...program], {
    // These are the variables with which the embedded server starts the runner for one user.
    env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', TOOLRACK_RUNNER_USER_SLOTS: 'all', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.write(`${secret}\n`)
  const port = await portOf(child)
  const { pid } = child
  assert.ok(pid)
  return {
    pid,
    address: { RUNNER_URL: `http://127.0.0.1:${port}`, RUNNER_SECRET: secret },
    connect: () => keepAliveClient(port, secret),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.stdin.end()
      await exited
    },
  }
}

/** The port in the first line of a server's output. */
async function portOf(child: { readonly stdout: NodeJS.ReadableStream }): Promise<number> {
  const lines = createInterface(child.stdout)
  const [line] = (await Promise.race([
    once(lines, 'line'),
    once(lines, 'close').then(() => {
      throw new Error('the server ended before it listened')
    }),
  ])) as [string]
  const { listening } = JSON.parse(line) as { listening: string }
  return Number(new URL(listening).port)
}
