import { expect, test } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { processesWith } from '../../scripts/toolchain/kept-processes.mjs'
import { descendantsOf, isAlive } from '../support/processes.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { failedStart, Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

type Health = {
  readonly status: string
  readonly isolation: string
  readonly runner: { readonly status: string; readonly reason?: string; readonly isolation?: string }
}

function start(): Promise<Server> {
  return Server.start({ args: [`--python=${PYTHON}`] })
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

withPython(
  'a server lists before its runner is ready, shows what the runner has measured, and takes it along when it ends, as every server does with its own',
  async () => {
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
    await expectOnlyForItsServer(server)
    await expectNothingLeftWhereThePortIsTaken(server)

    await using other = await start()
    await healthWith(other, 'ready')
    expect(runnerUrls(other)).not.toContain(runnerUrls(server).at(-1))
    const ofOther = descendantsOf(other.pid)
    expect(ofOther.length).toBeGreaterThanOrEqual(2)
    const { code, stderr } = await other.stop()
    expect(code).toBe(0)
    expect(stderr).toMatch(/^info {2}runner is ready .*\n$/)
    await expectGone(ofOther)
    expect((await health(server)).runner.status).toBe('ready')

    const started = descendantsOf(server.pid)
    expect(started.length).toBeGreaterThanOrEqual(2)
    await server.kill9()
    await expectGone(started)
  },
)

/** Who does not bear the secret gets nothing but status, version and level. */
async function expectOnlyForItsServer(server: Server): Promise<void> {
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
}

/** A server whose port is taken says so, and leaves no runner behind. */
async function expectNothingLeftWhereThePortIsTaken(server: Server): Promise<void> {
  using data = temporaryFolder()
  const { port } = new URL(server.url)
  // The time zone is what the runner inherits: whoever has this one was started by this server.
  const TZ = randomUUID()
  const ended = await failedStart({ data: data.path, args: [`--python=${PYTHON}`], env: { PORT: port, TZ } })
  expect(ended.code).toBe(EXIT.addressTaken)
  expect(ended.stderr).toMatch(/is in use by another program/)
  expect(processesWith(`TZ=${TZ}`)).toEqual([])
}

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
