import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { compileCache } from '../../scripts/toolchain/checkout.mjs'
import { servingOptions } from '../../scripts/toolchain/serving.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** An embedded server. It has a token if there is only one user. */
export type EmbeddedServer = { readonly url: string; readonly token?: string; readonly pid: number }

type Options = {
  readonly python: string
  readonly env?: NodeJS.ProcessEnv
  /** The folder of another version of Toolrack. */
  readonly checkout?: string
}

/**
 * Calls `work` with an embedded server, which has its own runner, as under `npm start`. The server is not pinned to a core. Stops the
 * server when the work ends.
 */
export async function withEmbeddedServer<T>(
  folder: string,
  { python, env, checkout = ROOT }: Options,
  work: (server: EmbeddedServer) => Promise<T>,
): Promise<T> {
  const data = mkdtempSync(join(folder, 'data-'))
  const main = join(checkout, 'functions/src/local.ts')
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', ...servingOptions, main, `--python=${python}`],
    {
      env: { PATH: process.env['PATH'], HOME: data, PORT: '0', TOOLRACK_DATA: data, ...compileCache, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const exited = once(child, 'exit')
  try {
    const address = await Promise.race([addressIn(child.stdout), exited.then(() => undefined)])
    if (address === undefined || child.pid === undefined)
      throw new Error('the embedded server ended before it was ready')
    await runnerReady(address.url)
    return await work({ ...address, pid: child.pid })
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

async function addressIn(banner: Readable): Promise<Omit<EmbeddedServer, 'pid'> | undefined> {
  let said = ''
  // The stream stays open, because the server may print more later.
  for await (const part of banner.iterator({ destroyOnReturn: false })) {
    said += String(part)
    const url = /is ready at (http:\S+)/.exec(said)?.[1]
    // The last line of the banner. The token stands before it.
    if (url === undefined || !said.includes('Ctrl-C stops the server.')) continue
    const token = /^token: (\S+)$/m.exec(said)?.[1]
    return { url, ...(token !== undefined && { token }) }
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
