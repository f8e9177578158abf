import { afterAll, expect } from '@jest/globals'
import { CERTIFICATE, FrontDoor } from '../support/front-door.ts'
import { GoogleCloud } from '../support/google-cloud.ts'
import { invoked } from '../support/invocation.ts'
import { uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { RunnerInstance } from '../support/runner-instance.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { WEATHER } from '../support/weather-module.ts'

/** The instances of the tests. They are killed at the end. */
const instances = new AsyncDisposableStack()
afterAll(() => instances.disposeAsync())

/** An instance that has measured its isolation: below its level it runs nothing. */
async function readyInstance(): Promise<RunnerInstance> {
  const instance = instances.use(await RunnerInstance.start())
  await until(
    async () => (await (await fetch(`${instance.url}/health`)).json()) as { status: string },
    ({ status }) => status === 'ok',
  )
  return instance
}

/** The service before two instances of the runner, each of them the real one, behind one guarded address. */
class Deployment implements AsyncDisposable {
  readonly google: GoogleCloud
  readonly urls: readonly string[]
  readonly door: FrontDoor
  readonly server: Server

  private constructor(google: GoogleCloud, urls: readonly string[], door: FrontDoor, server: Server) {
    this.google = google
    this.urls = urls
    this.door = door
    this.server = server
  }

  static async start(): Promise<Deployment> {
    const google = await GoogleCloud.start()
    const urls = (await Promise.all([readyInstance(), readyInstance()])).map(({ url }) => url)
    const door = await FrontDoor.before(...urls)
    const env = { RUNNER_URL: door.url, NODE_EXTRA_CA_CERTS: CERTIFICATE, ...google.env }
    const server = await Server.start({ env })
    await uploaded(server, 'weather', WEATHER)
    return new Deployment(google, urls, door, server)
  }

  /** Sends the next requests to these instances. */
  before(...urls: readonly string[]): void {
    this.door.instances = urls
    this.door.passed.length = 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
    await this.door[Symbol.asyncDispose]()
    await this.google[Symbol.asyncDispose]()
  }
}

let starting: Promise<Deployment> | undefined
afterAll(async () => (await starting)?.[Symbol.asyncDispose]())

/** The deployment of all tests. A test that loses an instance puts its own one behind the door. */
async function deployed(): Promise<Deployment> {
  const deployment = await (starting ??= Deployment.start())
  deployment.before(...deployment.urls)
  return deployment
}

withPython(
  'two instances that share nothing are one runner: each call is run once, wherever it comes to; an account that may not call it is told which role is missing, and is let in once it has it',
  async () => {
    const { server, door, google } = await deployed()
    const places = Array.from({ length: 12 }, (_, index) => `Place ${index}`)
    const one = await Promise.all(places.map((location) => invoked(server, 'weather:get', { location })))
    const more: typeof one = []
    for (const location of places) more.push(await invoked(server, 'weather:get', { location }))
    for (const answers of [one, more])
      expect(answers.map(([status, { textResultForLlm }]) => [status, textResultForLlm])).toEqual(
        places.map((location) => [200, `${location}: cloudy for 1 day(s)`]),
      )

    const calls = door.passed.filter(({ path }) => path === '/invoke')
    expect(calls.filter(({ httpStatus }) => httpStatus === 200)).toHaveLength(places.length * 2)
    expect(new Set(calls.map(({ instance }) => instance))).toEqual(new Set([0, 1]))
    // Who does not hold the module has run nothing, and is told apart by that.
    expect(
      calls.filter(({ httpStatus }) => httpStatus !== 200).map(({ httpStatus }) => httpStatus),
    ).toContain(404)
    expect(new Set(calls.map(({ httpStatus }) => httpStatus))).toEqual(new Set([200, 404]))
    expect([google.audiences, door.tokens.size]).toEqual([[door.url], 1])

    door.refusal = 403
    const bern = { location: 'Bern' }
    expect(await invoked(server, 'weather:get', bern)).toMatchObject([
      503,
      {
        code: 'RUNNER_UNAVAILABLE',
        error: expect.stringMatching(/give it roles\/run\.invoker .*; nothing was run\.$/),
      },
    ])
    door.refusal = undefined
    expect(await invoked(server, 'weather:get', bern)).toMatchObject([
      200,
      { meta: { isolation: expect.stringMatching(/^L[23]$/) } },
    ])
    const { runner } = (await (await server.fetch('/health')).json()) as { runner: { status: string } }
    expect(runner.status).toBe('ready')
  },
)

withPython(
  'an instance that is lost in the middle of a call: that call may have run, and the next ones work',
  async () => {
    const deployment = await deployed()
    const { server, door, urls } = deployment
    const lost = await readyInstance()
    deployment.before(lost.url)
    const calling = invoked(server, 'weather:slow', { seconds: 1_000 })
    await until(
      () => lost.running(),
      (count) => count === 1,
    )
    door.instances = [lost.url, ...urls]
    await lost.kill()
    expect(await calling).toMatchObject([
      503,
      { code: 'WORKER_DIED', error: expect.stringMatching(/may have run/) },
    ])
    // As the platform does with an instance that has gone.
    door.instances = urls
    expect(await invoked(server, 'weather:get', { location: 'Bern' })).toMatchObject([200, {}])
    expect(
      door.passed.filter(({ path, httpStatus }) => path === '/invoke' && httpStatus === 200),
    ).toHaveLength(1)
  },
)

withPython(
  'a runner that hangs, one that answers nonsense and one below its level are told apart, and the next call works',
  async () => {
    const { server, door, urls } = await deployed()
    const bern = { location: 'Bern' }
    const works = async (): Promise<void> => {
      door.instances = urls
      expect(await invoked(server, 'weather:get', bern)).toMatchObject([200, {}])
    }

    const hanging = await readyInstance()
    door.instances = [hanging.url]
    hanging.hang()
    expect(await invoked(server, 'weather:late')).toMatchObject([
      503,
      { code: 'WORKER_DIED', error: expect.stringMatching(/did not answer within .* may have run/) },
    ])
    await works()

    await using nonsense = await ScriptedServer.start()
    nonsense.answers = [(_req, res) => res.end('<html>Welcome</html>')]
    door.instances = [nonsense.origin]
    expect(await invoked(server, 'weather:get', bern)).toMatchObject([503, { code: 'WORKER_DIED' }])
    expect(nonsense.asked).toHaveLength(1)
    await works()

    await using low = await RunnerInstance.start({ TOOLRACK_RUNNER_MIN_ISOLATION: 'L4' })
    door.instances = [low.url]
    expect(await invoked(server, 'weather:get', bern)).toMatchObject([
      503,
      { code: 'ISOLATION_UNAVAILABLE', error: expect.stringMatching(/^Nothing was run/) },
    ])
    await works()
  },
)
