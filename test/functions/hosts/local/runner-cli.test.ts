import { afterAll, expect } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../../../../scripts/toolchain/ports.mjs'
import { descendantsOf, isAlive } from '../../../support/processes.ts'
import { PYTHON, withPython } from '../../../support/runner-environment.ts'
import { until } from '../../../support/until.ts'

const PROGRAM = fileURLToPath(new URL('../../../../functions/src/hosts/local/runner-cli.ts', import.meta.url))
const SECRET = 'the-same-in-every-life'

const started = new Set<ChildProcess>()
afterAll(() => started.forEach((child) => child.kill('SIGKILL')))

async function start(env: NodeJS.ProcessEnv = {}) {
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, `--python=${PYTHON}`, '--parent-pipe=3']
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'], RUNNER_URL: url, RUNNER_SECRET: SECRET, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  started.add(child)
  const health = async (): Promise<{ readonly status?: string; readonly layers?: unknown }> => {
    const headers = { Authorization: `Bearer ${SECRET}` }
    const answer = await fetch(`${url}/health`, { headers }).catch(() => undefined)
    return answer ? ((await answer.json()) as { status: string }) : {}
  }
  const ready = (): Promise<unknown> =>
    until(health, ({ status, layers }) => status === 'ok' && layers !== undefined)
  return { child, ready, runner: () => descendantsOf(child.pid ?? 0)[0] ?? 0 }
}

withPython(
  'the runner beside the emulators has one address and one secret for all of its lives',
  async () => {
    const { child, ready, runner } = await start()
    await ready()
    const first = runner()
    process.kill(first, 'SIGKILL')
    await until(
      () => Promise.resolve(runner()),
      (pid) => pid !== 0 && pid !== first,
    )
    await ready()
    child.kill('SIGTERM')
    await once(child, 'exit')
    expect(child.exitCode).toBe(0)
  },
)

withPython('it ends with whoever has started it, and leaves no runner behind', async () => {
  const { child, ready, runner } = await start()
  await ready()
  const pid = runner()
  ;(child.stdio[3] as Writable).destroy()
  await once(child, 'exit')
  expect(isAlive(pid)).toBe(false)
})

withPython('with a setting that can not be used it says which, and ends', async () => {
  const { child } = await start({ TOOLRACK_RUNNER_SLOTS: '2', TOOLRACK_RUNNER_USER_SLOTS: '3' })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  await once(child, 'close')
  expect([child.exitCode, said]).toEqual([78, expect.stringContaining('TOOLRACK_RUNNER_USER_SLOTS')])
})
