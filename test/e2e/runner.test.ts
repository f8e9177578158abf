import { expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { processesWith } from '../../scripts/toolchain/kept-processes.mjs'
import { sharedServerWithRunner } from '../support/modules.ts'
import { descendantsOf, isAlive, runnerTreeOf } from '../support/processes.ts'
import { PYTHON, RUNNER, withPython } from '../support/runner-environment.ts'
import { failedStart, Server } from '../support/server.ts'
import type { ServerOptions } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

type Health = {
  readonly status: string
  readonly isolation: string
  readonly runner: { readonly status: string; readonly reason?: string; readonly isolation?: string }
}

function start(options: ServerOptions = {}): Promise<Server> {
  return Server.start({ ...options, args: [`--python=${PYTHON}`] })
}

async function health(server: Server): Promise<Health> {
  return (await server.fetch('/health')).json() as Promise<Health>
}

function healthWith(server: Server, status: string): Promise<Health> {
  return until(
    () => health(server),
    ({ runner }) => runner.status === status,
  )
}

async function expectGone(pids: readonly number[]): Promise<void> {
  await until(
    () => Promise.resolve(pids.filter(isAlive)),
    (alive) => alive.length === 0,
  )
}

/** Where the runner listens, as the log of its server has it; the last one last. */
function runnerUrls(server: Server): string[] {
  return [...server.log.matchAll(/runner is ready {2}\{"url":"([^"]+)"/g)].map(([, url = '']) => url)
}

/** For the tests that leave a server as it was. */
const shared = sharedServerWithRunner()

withPython('the server lists at once; /health shows what the runner has measured when it has', async () => {
  await using server = await start()
  expect((await server.fetch('/workflows/tools/list')).status).toBe(200)
  const { status, isolation, runner } = await healthWith(server, 'ready')
  expect([status, isolation]).toEqual(['ok', runner.isolation])
  expect(runner).toMatchObject({
    isolation: expect.stringMatching(/^L[0-4]$/),
    layers: expect.arrayContaining([expect.objectContaining({ name: 'rlimits' })]),
    attacks: expect.any(Array),
    python: expect.stringMatching(/^3\./),
  })
  const publicly = (await (await fetch(`${server.url}/health`)).json()) as object
  expect(publicly).toEqual({ status: 'ok', version: expect.any(String), isolation })
})

withPython('a runner that is killed is started again; lists go on meanwhile', async () => {
  const server = await shared()
  const before = runnerUrls(server).length
  const [runner = 0, ...itsChildren] = runnerTreeOf(server.pid)
  process.kill(runner, 'SIGKILL')
  expect((await server.fetch('/workflows/tools/list')).status).toBe(200)
  await until(
    () => Promise.resolve(runnerUrls(server)),
    (urls) => urls.length === before + 1,
  )
  await healthWith(server, 'ready')
  await expectGone([runner, ...itsChildren])
})

withPython('kill -9 of the server ends the runner and all that it has started', async () => {
  await using server = await start()
  await healthWith(server, 'ready')
  const started = descendantsOf(server.pid)
  expect(started.length).toBeGreaterThanOrEqual(2)
  await server.kill9()
  await expectGone(started)
})

withPython('a stopped server has stopped its runner, without a complaint', async () => {
  await using server = await start()
  await healthWith(server, 'ready')
  const started = descendantsOf(server.pid)
  const { code, stderr } = await server.stop()
  expect(code).toBe(0)
  expect(stderr).toMatch(/^info {2}runner is ready .*\n$/)
  await expectGone(started)
})

withPython('a server that is stopped while its runner starts leaves nothing', async () => {
  await using server = await start()
  const started = descendantsOf(server.pid)
  expect(await server.stop()).toMatchObject({ code: 0 })
  await expectGone(started)
})

withPython('who does not bear the secret gets nothing but status, version and level', async () => {
  const server = await shared()
  const url = runnerUrls(server).at(-1) ?? ''
  expect(Object.keys((await (await fetch(`${url}/health`)).json()) as object)).toEqual([
    'status',
    'version',
    'isolation',
  ])
  for (const authorization of [undefined, `Bearer ${server.token}`, 'Bearer ']) {
    const headers = new Headers(authorization === undefined ? {} : { authorization })
    const refused = await Promise.all(
      ['/check', '/invoke'].map((path) => fetch(url + path, { method: 'POST', body: '{}', headers })),
    )
    expect(refused.map((answer) => answer.status)).toEqual([401, 401])
  }
})

withPython('two servers at once have a runner each', async () => {
  await using first = await start()
  const second = await shared()
  await healthWith(first, 'ready')
  expect(runnerUrls(second)).not.toContain(runnerUrls(first)[0])
  await first.stop()
  expect((await health(second)).runner.status).toBe('ready')
})

withPython('a server whose port is taken says so, and leaves no runner behind', async () => {
  const server = await shared()
  using data = temporaryFolder()
  const { port } = new URL(server.url)
  // The time zone is what the runner inherits: whoever has this one was started by this server.
  const TZ = randomUUID()
  const ended = await failedStart({ data: data.path, args: [`--python=${PYTHON}`], env: { PORT: port, TZ } })
  expect(ended.code).toBe(EXIT.addressTaken)
  expect(ended.stderr).toMatch(/is in use by another program/)
  expect(processesWith(`TZ=${TZ}`)).toEqual([])
})

withPython('a setting that the runner refuses is told by its name, and lists go on', async () => {
  await using server = await start({ env: { TOOLRACK_RUNNER_SLOTS: '2', TOOLRACK_RUNNER_USER_SLOTS: '3' } })
  const { status, isolation, runner } = await healthWith(server, 'unreachable')
  expect([status, isolation]).toEqual(['degraded', 'L0'])
  expect(runner.reason).toMatch(
    /exit code 78: .*TOOLRACK_RUNNER_USER_SLOTS.*; correct that, then start the server again\.$/,
  )
  expect((await server.fetch('/workflows/tools/list')).status).toBe(200)
})

withPython('a runner that runs elsewhere is asked with RUNNER_SECRET, and refuses another', async () => {
  const secret = 'what only the two of them know'.replaceAll(' ', '-')
  const elsewhere = spawn(PYTHON, ['-I', RUNNER, '--parent=stdin'], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    elsewhere.stdin.write(`${secret}\n`)
    const [line] = (await once(elsewhere.stdout.setEncoding('utf8'), 'data')) as [string]
    const { listening: RUNNER_URL } = JSON.parse(line) as { listening: string }
    await using server = await Server.start({ env: { RUNNER_URL, RUNNER_SECRET: secret } })
    await healthWith(server, 'ready')
    expect(runnerTreeOf(server.pid)).toEqual([])
    await using stranger = await Server.start({ env: { RUNNER_URL, RUNNER_SECRET: `${secret}r` } })
    const { runner } = await healthWith(stranger, 'unreachable')
    expect(runner.reason).toBe('The runner refuses the secret of this service.')
  } finally {
    elsewhere.stdin.end()
    await once(elsewhere, 'exit')
  }
})

test('without a Python the first lines and /health say what is missing, and lists go on', async () => {
  const missing = 'The Python runner needs Python 3.11 or newer, and no Python was found: install one.'
  await using server = await Server.start({ args: [`--no-python=${missing}`] })
  expect(await health(server)).toMatchObject({
    status: 'ok',
    isolation: 'L0',
    runner: { status: 'absent', reason: missing },
  })
  expect((await server.fetch('/workflows/tools/list')).status).toBe(200)
  expect((await server.stop()).stdout).toContain(`Python tools do not run here. ${missing}\n`)
})
