import { beforeAll, expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { parseConfig } from '../../../functions/src/hosts/config.ts'
import type { Runner } from '../../../functions/src/catalog/definitions/runner.ts'
import { namedRunner } from '../../../functions/src/hosts/named-runner.ts'
import { CERTIFICATE, FrontDoor } from '../../support/front-door.ts'
import { GoogleCloud } from '../../support/google-cloud.ts'
import { CALL, SUCCESS } from '../../support/runner-call.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'

const PATH = 'projects/p-1/locations/us-central1/services/toolrack-runner'
const ENV = { RUNNER_SERVICE: 'toolrack-runner', RUNNER_REGION: 'us-central1', GOOGLE_CLOUD_PROJECT: 'p-1' }

beforeAll(() => setDefaultCACertificates([...getCACertificates(), readFileSync(CERTIFICATE, 'utf8')]))

/** A runner that the environment names, and what its log says. */
function named(
  env: NodeJS.ProcessEnv,
  google: GoogleCloud,
): { readonly runner: Runner; readonly log: string[] } {
  const log: string[] = []
  const keep = (message: string): void => void log.push(message)
  const lookup = { endpoint: google.endpoint, againMs: 0 }
  const runner = namedRunner(parseConfig(env).runner, { info: keep, warn: keep, error: keep }, lookup)
  if (!runner) throw new Error('no runner is named')
  return { runner, log }
}

/** A place where each request is answered as a runner answers a call that went well. */
async function place() {
  const instance = await ScriptedServer.start()
  instance.answers = [json(SUCCESS)]
  const door = await FrontDoor.before(instance.origin)
  const close = async (): Promise<void> => {
    await door[Symbol.asyncDispose]()
    await instance[Symbol.asyncDispose]()
  }
  return { instance, door, [Symbol.asyncDispose]: close }
}

test('a service is looked up with the first call, once for calls at one time, and asked with one token for its address', async () => {
  await using google = await GoogleCloud.start()
  await using there = await place()
  google.services.set(PATH, there.door.url)
  const { runner } = named(ENV, google)
  expect([google.lookedUp, google.audiences]).toEqual([[], []])
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => runner.invoke(CALL)))
  outcomes.push(await runner.invoke(CALL))
  expect(outcomes.map((outcome) => 'text' in outcome && outcome.text)).toEqual(Array(9).fill('cloudy'))
  expect([google.lookedUp, google.audiences]).toEqual([[PATH], [there.door.url]])
  await runner.close()
})

test('a service that has moved is lost for the call that found it gone, looked up again, and found by the next', async () => {
  await using google = await GoogleCloud.start()
  await using before = await place()
  await using after = await place()
  const { runner } = named(ENV, google)
  google.services.set(PATH, before.door.url)
  expect(await runner.invoke(CALL)).toMatchObject({ text: 'cloudy' })
  google.services.set(PATH, after.door.url)
  before.door.refusal = 404
  expect(await runner.invoke(CALL)).toMatchObject({
    code: 'RUNNER_UNAVAILABLE',
    error: 'The runner is not at its address; nothing was run.',
  })
  expect(await runner.invoke(CALL)).toMatchObject({ text: 'cloudy' })
  expect([google.lookedUp.length, after.instance.asked.length]).toEqual([2, 1])
  await runner.close()
})

test('a caller who goes before the runner is reached makes nobody doubt its address or the token', async () => {
  await using google = await GoogleCloud.start()
  await using there = await place()
  const { runner } = named(ENV, google)
  google.services.set(PATH, there.door.url)
  expect(await runner.invoke(CALL)).toMatchObject({ text: 'cloudy' })
  const gone = AbortSignal.abort()
  expect(await runner.invoke({ ...CALL, signal: gone })).toMatchObject({ code: 'CANCELLED' })
  expect(await runner.invoke(CALL)).toMatchObject({ text: 'cloudy' })
  expect([google.lookedUp.length, google.audiences.length]).toEqual([1, 1])
  await runner.close()
})

test('a service that is not deployed runs nothing, says so to the operator too, and is found once it is', async () => {
  await using google = await GoogleCloud.start()
  await using there = await place()
  const { runner, log } = named(ENV, google)
  const reason = expect.stringMatching(/There is no service RUNNER_SERVICE in the region RUNNER_REGION/)
  expect(await runner.invoke(CALL)).toMatchObject({ code: 'RUNNER_UNAVAILABLE', error: reason })
  expect(await runner.health()).toMatchObject({ status: 'unreachable', reason })
  expect(log).toContain('the runner was not found')
  google.services.set(PATH, there.door.url)
  expect(await runner.invoke(CALL)).toMatchObject({ text: 'cloudy' })
  await runner.close()
})

test('without a token nothing is sent, and the log says what is missing', async () => {
  await using google = await GoogleCloud.start()
  await using there = await place()
  google.metadata = 'broken'
  const { runner, log } = named({ RUNNER_URL: there.door.url }, google)
  expect(await runner.invoke(CALL)).toMatchObject({
    code: 'RUNNER_UNAVAILABLE',
    error:
      'The runner was not asked, because this service gets no ID token from Google to show it; nothing was run.',
  })
  expect([log, there.instance.asked]).toEqual([['no ID token for the runner'], []])
  await runner.close()
}, 60_000)

test('a token that is refused is replaced for the next call', async () => {
  await using google = await GoogleCloud.start()
  await using there = await place()
  const { runner } = named({ RUNNER_URL: there.door.url }, google)
  await runner.invoke(CALL)
  there.door.refusal = 403
  expect(await runner.invoke(CALL)).toMatchObject({ error: expect.stringMatching(/roles\/run\.invoker/) })
  there.door.refusal = undefined
  expect(await runner.invoke(CALL)).toMatchObject({ text: 'cloudy' })
  expect(google.audiences).toEqual([there.door.url, there.door.url])
  await runner.close()
})

test.each([
  [
    'at an address of this machine',
    (port: string) => ({ RUNNER_URL: `http://127.0.0.1:${port}` }),
    undefined,
  ],
  [
    'with a secret',
    (port: string) => ({ RUNNER_URL: `http://127.0.0.1:${port}`, RUNNER_SECRET: 'sixteen-or-more-x' }),
    'Bearer sixteen-or-more-x',
  ],
])('a runner %s is shown no ID token, and Google is not asked', async (_title, env, shown) => {
  await using google = await GoogleCloud.start()
  await using instance = await ScriptedServer.start()
  instance.answers = [json(SUCCESS)]
  const { runner } = named(env(new URL(instance.origin).port), google)
  expect(await runner.invoke(CALL)).toMatchObject({ text: 'cloudy' })
  expect(instance.asked.map(({ headers }) => headers.authorization)).toEqual([shown])
  expect([google.audiences, google.lookedUp]).toEqual([[], []])
  await runner.close()
})

test('RUNNER_URL outweighs RUNNER_SERVICE, and neither is no runner', () => {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  expect(parseConfig({ ...ENV, RUNNER_URL: 'https://a.run.app' }).runner.service).toBeUndefined()
  expect(namedRunner(parseConfig({}).runner, log)).toBeUndefined()
})

test('functions in the emulator use no runner in the cloud, only one that RUNNER_URL names', () => {
  const emulated = { ...ENV, FUNCTIONS_EMULATOR: 'true' }
  expect(parseConfig(emulated).runner).toMatchObject({ address: undefined, service: undefined })
  expect(parseConfig({ ...emulated, RUNNER_URL: 'http://127.0.0.1:1' }).runner.address).toBeDefined()
  expect(parseConfig({ ...emulated, FUNCTIONS_EMULATOR: 'false' }).runner.service).toBeDefined()
})

test.each([
  [
    { RUNNER_SERVICE: 'toolrack-runner' },
    'TOOLRACK_REGION or RUNNER_REGION must be set if RUNNER_SERVICE is set',
  ],
  [
    { ...ENV, GOOGLE_CLOUD_PROJECT: '' },
    'GOOGLE_CLOUD_PROJECT must be set to the project id if RUNNER_SERVICE is set',
  ],
  [{ ...ENV, RUNNER_SERVICE: 'Toolrack/Runner' }, 'RUNNER_SERVICE must be the name of a Cloud Run service'],
  [{ ...ENV, RUNNER_REGION: 'somewhere' }, 'RUNNER_REGION must be a region such as us-central1'],
  [{ ...ENV, TOOLRACK_REGION: 'somewhere' }, 'TOOLRACK_REGION must be a region such as us-central1'],
])('%j is refused', (env, message) => {
  expect(() => parseConfig(env)).toThrow(message)
})
