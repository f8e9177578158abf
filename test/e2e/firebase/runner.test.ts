import { beforeAll, expect } from '@jest/globals'
import type { ListedTool } from '@toolrack/contract'
import { describeWithEmulators, EMULATORS, HOSTING, newAdmin, newUser } from '../../support/emulators.ts'
import type { Person } from '../../support/emulators.ts'
import { errorAnswer } from '../../support/error-answer.ts'
import { invoked } from '../../support/invocation.ts'
import { uploaded } from '../../support/modules.ts'
import { descendantsOf } from '../../support/processes.ts'
import { withPython } from '../../support/runner-environment.ts'
import { until } from '../../support/until.ts'
import { WEATHER } from '../../support/weather-module.ts'

/** Somebody at the Hosting port, whose uploads and calls go there. */
type AtHosting = { readonly fetch: (path: string, init?: RequestInit) => Promise<Response> }

const at = (person: Person): AtHosting => ({ fetch: (path, init) => person.fetch(HOSTING + path, init) })

type Health = {
  readonly runner: {
    readonly status: string
    readonly isolation?: string
    readonly calls?: { readonly running: number }
  }
}

async function healthOf(person: AtHosting): Promise<Health> {
  return (await (await person.fetch('/health')).json()) as Health
}

async function names(person: AtHosting): Promise<readonly string[]> {
  const listed = (await (await person.fetch('/workflows/tools/list')).json()) as readonly ListedTool[]
  return listed.map(({ function: { name } }) => name)
}

/** In the emulator a request may come to another instance, which sees a write within two seconds. */
async function withWeather(person: AtHosting): Promise<void> {
  await uploaded(person, 'weather', WEATHER)
  await until(
    () => names(person),
    (listed) => listed.includes('weather:get'),
  )
}

/**
 * What a call is answered whose runner is killed while it runs. Which call runs is known from `/health` only, and the answer of an
 * instance can be a second old, so it can count the call before. Then the runner was killed before this call came, and it is repeated.
 */
function killedInCall(person: AtHosting) {
  return until(
    async () => {
      let isAnswered = false
      const calling = invoked(person, 'weather:slow', { seconds: 1_000 }).finally(() => (isAnswered = true))
      await until(
        () => healthOf(person),
        ({ runner }) => runner.calls?.running === 1 || isAnswered,
      )
      const [runner] = await until(
        () => Promise.resolve(descendantsOf(EMULATORS.runner ?? 0)),
        (processes) => processes.length > 0,
      )
      process.kill(runner as number, 'SIGKILL')
      return calling
    },
    ([, result]) => !('code' in result && result.code === 'RUNNER_UNAVAILABLE'),
  )
}

describeWithEmulators('Python tools through Hosting', () => {
  let ann: AtHosting
  let uploading: Promise<void> | undefined
  /** All tests call the tools of one upload, which the first of them makes. */
  const weatherIsListed = (): Promise<void> => (uploading ??= withWeather(ann))
  beforeAll(async () => {
    ann = at(await newUser())
  })

  withPython(
    'a module that a user uploads is in the list, and its tools are run at the level that was measured',
    async () => {
      const { runner } = await until(
        () => healthOf(ann),
        ({ runner }) => runner.status === 'ready',
      )
      await weatherIsListed()
      expect(await invoked(ann, 'weather:get', { location: 'Bern' })).toMatchObject([
        200,
        {
          resultType: 'success',
          textResultForLlm: 'Bern: cloudy for 1 day(s)',
          meta: { tool: 'weather:get', isolation: runner.isolation },
        },
      ])
      expect(await invoked(ann, 'weather:get', {})).toMatchObject([
        400,
        { resultType: 'failure', textResultForLlm: expect.stringMatching(/location/) },
      ])
    },
  )

  withPython('what a model calls is dispatched, in order', async () => {
    await weatherIsListed()
    const places = ['Bern', 'Basel', 'Chur']
    const tool_calls = places.map((location, index) => ({
      id: `call_${index}`,
      type: 'function',
      function: { name: 'weather__get', arguments: JSON.stringify({ location }) },
    }))
    const answer = await ann.fetch('/workflows/tools/dispatch', {
      method: 'POST',
      body: JSON.stringify({ tool_calls }),
    })
    const { messages } = (await answer.json()) as { messages: readonly unknown[] }
    expect(messages).toEqual(
      places.map((location, index) => ({
        role: 'tool',
        tool_call_id: `call_${index}`,
        content: `${location}: cloudy for 1 day(s)`,
      })),
    )
  })

  withPython('a job calls the tool that its token names, and no other', async () => {
    await weatherIsListed()
    const explained = await ann.fetch('/workflows/tools/explain?name=weather:get')
    const { layers } = (await explained.json()) as { layers: readonly { role?: string; digest?: string }[] }
    const digest = layers.find(({ role }) => role === 'winner')?.digest
    const minted = await ann.fetch('/workflows/jobs/tokens', {
      method: 'POST',
      body: JSON.stringify({ workflowId: 'nightly', tools: [{ name: 'weather:get', digest }] }),
    })
    const { token } = (await minted.json()) as { token: string }
    const call = (name: string, args: object): Promise<Response> =>
      fetch(`${HOSTING}/jobs/tools/invoke`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: JSON.stringify({ name, arguments: args }),
      })
    const allowed = await call('weather:get', { location: 'Bern' })
    expect([allowed.status, await allowed.json()]).toMatchObject([
      200,
      { textResultForLlm: 'Bern: cloudy for 1 day(s)' },
    ])
    const other = await call('weather:loud', { lines: 1 })
    expect([other.status, await other.json()]).toMatchObject([403, { resultType: 'failure' }])
  })

  withPython(
    'what a call printed is there for its caller, and for nobody else, an admin neither',
    async () => {
      await weatherIsListed()
      const [, { meta }] = await invoked(ann, 'weather:loud', { lines: 1 })
      const path = `/workflows/tools/invocations/${meta.invocationId}/log`
      expect(await (await ann.fetch(path)).json()).toMatchObject({ text: 'line 0\na complaint\n' })
      for (const other of [at(await newUser()), at(await newAdmin())])
        expect(await errorAnswer(await other.fetch(path))).toMatchObject({
          httpStatus: 404,
          reason: 'INVOCATION_NOT_FOUND',
        })
    },
  )

  withPython(
    'kill -9 of the runner in the middle of a call: that call may have run, and the next ones work',
    async () => {
      await weatherIsListed()
      expect(await killedInCall(ann)).toMatchObject([
        503,
        { code: 'WORKER_DIED', error: expect.stringMatching(/may have run/) },
      ])
      const [, { textResultForLlm }] = await until(
        () => invoked(ann, 'weather:get', { location: 'Bern' }),
        ([status]) => status === 200,
      )
      expect(textResultForLlm).toBe('Bern: cloudy for 1 day(s)')
    },
  )
})
