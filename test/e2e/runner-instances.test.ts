import { expect } from '@jest/globals'
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

/** The service before two instances of the runner, each of them the real one, behind one guarded address. */
class Deployment implements AsyncDisposable {
  readonly google: GoogleCloud
  readonly instances: readonly RunnerInstance[]
  readonly door: FrontDoor
  readonly server: Server

  private constructor(
    google: GoogleCloud,
    instances: readonly RunnerInstance[],
    door: FrontDoor,
    server: Server,
  ) {
    this.google = google
    this.instances = instances
    this.door = door
    this.server = server
  }

  static async start(): Promise<Deployment> {
    const google = await GoogleCloud.start()
    const instances = await Promise.all([RunnerInstance.start(), RunnerInstance.start()])
    const door = await FrontDoor.before(...instances.map(({ url }) => url))
    const env = { RUNNER_URL: door.url, NODE_EXTRA_CA_CERTS: CERTIFICATE, ...google.env }
    return new Deployment(google, instances, door, await Server.start({ env }))
  }

  /** Waits until both instances have measured their isolation: below its level none runs anything. */
  async ready(): Promise<this> {
    for (const { url } of this.instances)
      await until(
        async () => (await (await fetch(`${url}/health`)).json()) as { status: string },
        ({ status }) => status === 'ok',
      )
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
    await this.door[Symbol.asyncDispose]()
    await Promise.all(this.instances.map((instance) => instance.kill()))
    await this.google[Symbol.asyncDispose]()
  }
}

withPython(
  'two instances that share nothing are one runner: each call is run once, wherever it comes to',
  async () => {
    await using deployment = await Deployment.start()
    const { server, door, google } = await deployment.ready()
    await uploaded(server, 'weather', WEATHER)
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
  },
)

withPython(
  'an instance that is lost in the middle of a call: that call may have run, and the next ones work',
  async () => {
    await using deployment = await Deployment.start()
    const { server, door, instances } = await deployment.ready()
    await uploaded(server, 'weather', WEATHER)
    const calling = invoked(server, 'weather:slow', { seconds: 1_000 })
    const running = await until(
      () => Promise.all(instances.map((instance) => instance.running())),
      (counts) => counts.includes(1),
    )
    const lost = running.indexOf(1)
    await instances[lost]?.kill()
    expect(await calling).toMatchObject([
      503,
      { code: 'WORKER_DIED', error: expect.stringMatching(/may have run/) },
    ])
    // As the platform does with an instance that has gone.
    door.instances = door.instances.filter((_url, index) => index !== lost)
    expect(await invoked(server, 'weather:get', { location: 'Bern' })).toMatchObject([200, {}])
    expect(
      door.passed.filter(({ path, httpStatus }) => path === '/invoke' && httpStatus === 200),
    ).toHaveLength(1)
  },
)

withPython(
  'a runner that hangs, one that answers nonsense and one below its level are told apart, and the next call works',
  async () => {
    await using deployment = await Deployment.start()
    const { server, door, instances } = await deployment.ready()
    await uploaded(server, 'weather', WEATHER)
    const [first = '', second = ''] = instances.map(({ url }) => url)
    const bern = { location: 'Bern' }
    const works = async (): Promise<void> => {
      door.instances = [second]
      expect(await invoked(server, 'weather:get', bern)).toMatchObject([200, {}])
    }

    door.instances = [first]
    instances[0]?.hang()
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

withPython(
  'an account that may not call the runner is told which role is missing, and is let in once it has it',
  async () => {
    await using deployment = await Deployment.start()
    const { server, door } = await deployment.ready()
    await uploaded(server, 'weather', WEATHER)
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
