import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { CORE, pinned } from './pin.ts'

const BENCH = new URL('..', import.meta.url)

export type NodeProcessOptions = {
  readonly args?: readonly string[]
  readonly nodeArgs?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** Starts a file of `bench/` in a new process, on the server's core. The process ends when the IPC channel closes. */
export function startNodeProcess(
  file: string,
  { args = [], nodeArgs = [], env = {} }: NodeProcessOptions,
): ChildProcess {
  const path = fileURLToPath(new URL(file, BENCH))
  const flags = ['--disable-warning=ExperimentalWarning', ...nodeArgs]
  const [command, commandArgs] = pinned(CORE.server, process.execPath, [...flags, path, ...args])
  return spawn(command, commandArgs, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

/** The next message of the process. Rejects if the process ends first. */
export async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const waiting = new AbortController()
  const { signal } = waiting
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message as T),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`${child.spawnargs.join(' ')} ended with ${String(code)} instead of answering`)
      }),
    ])
  } finally {
    waiting.abort()
  }
}
