import { expect } from '@jest/globals'
import { isAlive, runnerTreeOf } from '../support/processes.ts'
import { invoke, invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { WEATHER } from '../support/weather-module.ts'

type Health = { readonly runner: { readonly status: string; readonly calls?: { readonly running: number } } }

/** Waits until so many calls run in the runner. */
function untilRunning(server: Server, running: number): Promise<Health> {
  return until(
    async () => (await (await server.fetch('/health')).json()) as Health,
    ({ runner }) => runner.calls?.running === running,
  )
}

const started = sharedServerWithRunner()

/** The server that these tests share, with the module. */
async function serving(): Promise<Server> {
  const server = await started()
  await uploaded(server, 'weather', WEATHER)
  return server
}

let stoppedData: string | undefined

/** The data of the shared server once it is stopped. The tests that need them come last. */
async function dataOfStopped(): Promise<string> {
  if (stoppedData !== undefined) return stoppedData
  const server = await serving()
  await server.stop()
  return (stoppedData = server.data)
}

withPython(
  'kill -9 of the runner in the middle of a call: that call tells that it may have run, the next ones work',
  async () => {
    const server = await serving()
    const calling = invoked(server, 'weather:slow', { seconds: 20 })
    await untilRunning(server, 1)
    process.kill(runnerTreeOf(server.pid)[0] ?? 0, 'SIGKILL')
    expect(await calling).toMatchObject([
      503,
      { code: 'WORKER_DIED', error: expect.stringMatching(/may have run/) },
    ])
    const [, { textResultForLlm }] = await until(
      () => invoked(server, 'weather:get', { location: 'Bern' }),
      ([status]) => status === 200,
    )
    expect(textResultForLlm).toBe('Bern: cloudy for 1 day(s)')
  },
)

withPython('when the caller goes, the call and its process end', async () => {
  const server = await serving()
  const caller = new AbortController()
  const calling = invoke(
    server,
    { name: 'weather:slow', arguments: { seconds: 1_000 } },
    { signal: caller.signal },
  )
  await untilRunning(server, 1)
  const before = runnerTreeOf(server.pid)
  caller.abort()
  await expect(calling).rejects.toThrow(/abort/)
  await untilRunning(server, 0)
  await until(
    () => Promise.resolve(before.filter((pid) => !isAlive(pid))),
    (ended) => ended.length > 0,
  )
  expect(await invoked(server, 'weather:get', { location: 'Bern' })).toMatchObject([200, {}])
})

withPython(
  'a module that is deleted during a call: the call ends by itself, and the next finds no tool',
  async () => {
    const server = await serving()
    const calling = invoked(server, 'weather:slow', { seconds: 2 })
    await untilRunning(server, 1)
    const deleted = await server.fetch('/workflows/tools/modules/weather', { method: 'DELETE' })
    expect(deleted.status).toBe(200)
    expect(await invoked(server, 'weather:slow', { seconds: 0 })).toMatchObject([
      404,
      { code: 'TOOL_NOT_FOUND' },
    ])
    expect(await calling).toMatchObject([200, { textResultForLlm: 'done' }])
  },
)

withPython('a server that is stopped does not wait for a long call', async () => {
  const server = await serving()
  const calling = invoked(server, 'weather:slow', { seconds: 1_000 })
  const lost = expect(calling).rejects.toThrow(/fetch failed/)
  await untilRunning(server, 1)
  expect((await server.stop()).code).toBe(0)
  stoppedData = server.data
  await lost
})

withPython(
  'while the runner is away calls are told so with Retry-After, and built-in tools and lists go on',
  async () => {
    await using server = await Server.start({
      data: await dataOfStopped(),
      args: ['--no-python=There is no Python here.'],
    })
    const answer = await invoke(server, { name: 'weather:get', arguments: { location: 'Bern' } })
    expect([answer.status, answer.headers.get('Retry-After'), await answer.json()]).toMatchObject([
      503,
      '1',
      { code: 'RUNNER_UNAVAILABLE', error: 'Nothing was run: There is no Python here.' },
    ])
    expect(await invoked(server, 'ECHO', { text: 'a' })).toMatchObject([200, {}])
  },
)
