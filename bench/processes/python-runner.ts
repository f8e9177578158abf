import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createInterface } from 'node:readline'
import { keepAliveClient } from './keep-alive-client.ts'
import type { KeepAliveClient } from './keep-alive-client.ts'

/** The folder that is started. */
export const RUNNER = fileURLToPath(new URL('../../python-runner', import.meta.url))

export type PythonRunner = {
  readonly pid: number
  /** As the runner measured it when it started. */
  readonly isolation: string
  /** A new connection. */
  readonly connect: () => Promise<KeepAliveClient>
  /** As a service's environment names it. */
  readonly address: { readonly RUNNER_URL: string; readonly RUNNER_SECRET: string }
}

export type StartedRunner = {
  readonly pid: number
  readonly address: PythonRunner['address']
  readonly connect: () => Promise<KeepAliveClient>
  /** Resolves when it has gone; a second call changes nothing. */
  readonly stop: () => Promise<void>
}

/** Lends a runner that has measured its isolation, and stops it however the work ends. */
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

/** Starts a Python program that tells in its first line where it listens. Ours measures its isolation then, and its first answer waits for that. */
export async function startRunner(
  python: string,
  program: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<StartedRunner> {
  const secret = randomBytes(16).toString('hex')
  const child = spawn(python, ['-I', ...program], {
    // One user alone, as the embedded server starts it.
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

/** The port that a server tells in its first line. */
async function portOf(child: { readonly stdout: NodeJS.ReadableStream }): Promise<number> {
  const lines = createInterface(child.stdout)
  const [line] = (await Promise.race([
    once(lines, 'line'),
    once(lines, 'close').then(() => {
      throw new Error('it ended instead of listening')
    }),
  ])) as [string]
  const { listening } = JSON.parse(line) as { listening: string }
  return Number(new URL(listening).port)
}
