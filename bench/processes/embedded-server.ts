import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../functions/src/local.ts', import.meta.url))

/**
 * Calls `work` with the URL of an embedded server, which has its own runner, as under `npm start`. The server is not pinned to a
 * core. Stops the server when the work ends.
 */
export async function withEmbeddedServer<T>(
  folder: string,
  { python, env }: { readonly python: string; readonly env: Readonly<Record<string, string>> },
  work: (url: string) => Promise<T>,
): Promise<T> {
  const data = mkdtempSync(join(folder, 'data-'))
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', MAIN, `--python=${python}`],
    {
      env: { PATH: process.env['PATH'], HOME: data, PORT: '0', TOOLRACK_DATA: data, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const exited = once(child, 'exit')
  try {
    const url = await Promise.race([urlIn(child.stdout), exited.then(() => undefined)])
    if (url === undefined) throw new Error('the embedded server ended before it was ready')
    await runnerReady(url)
    return await work(url)
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

async function urlIn(banner: AsyncIterable<Buffer>): Promise<string | undefined> {
  let said = ''
  for await (const part of banner) {
    said += String(part)
    const url = /is ready at (http:\S+)/.exec(said)?.[1]
    if (url !== undefined) return url
  }
  return undefined
}

async function runnerReady(url: string): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const { isolation } = (await (await fetch(`${url}/health`)).json()) as { isolation: string }
    if (isolation !== 'L0') return
    await pause(20)
  }
  throw new Error('the runner was not ready in time')
}
