import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Sample } from '../measure/round.ts'
import { FRAMEWORK } from './framework.ts'
import { listening } from './listening.ts'
import { CORE, pinned } from './pin.ts'

export type FirstRequest = { readonly path: string; readonly token?: string; readonly layers?: string }

/**
 * Starts a function in a new process, as the platform does, and sends one request as soon as the process listens. The header
 * X-Tools-Layers of the answer must be `layers`, because the times of different catalogs cannot be compared.
 */
export async function coldStart(env: NodeJS.ProcessEnv, first: FirstRequest): Promise<Sample> {
  const startedMs = performance.now()
  const child = spawn(...pinned(CORE.server, process.execPath, [FRAMEWORK]), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const said = text(child.stderr)
  const ended = once(child, 'exit').then(() => {
    throw new Error('the process has ended')
  })
  ended.catch(() => undefined)
  try {
    const port = Number(env['PORT'])
    await Promise.race([listening(port), ended])
    const openMs = performance.now() - startedMs
    await firstAnswer(port, first)
    const readyMs = performance.now() - startedMs
    return { openMs, firstRequestMs: readyMs - openMs, readyMs, cpuMs: cpuMsOf(child.pid) }
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`a cold start failed; the function said: ${await said}`, { cause: error })
  } finally {
    if (child.kill('SIGKILL')) await once(child, 'exit')
  }
}

async function firstAnswer(port: number, { path, token = '', layers }: FirstRequest): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` }
  const req = get({ host: '127.0.0.1', port, path, headers, agent: false })
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  const body = await text(res)
  assert.equal(res.statusCode, 200, body.slice(0, 500))
  if (layers !== undefined) assert.equal(res.headers['x-tools-layers'], layers)
}

/** The processor time of a process, in steps of 10 ms; NaN on a system without /proc. */
function cpuMsOf(pid: number | undefined): number {
  try {
    const [, , , , , , , , , , , user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return (Number(user) + Number(system)) * 10
  } catch {
    return Number.NaN
  }
}
