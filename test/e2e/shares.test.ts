import { afterAll, expect, jest, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { tool } from '../support/definition-changes.ts'
import { inProcess } from '../support/in-process.ts'
import { slowSchema } from '../support/schema-shapes.ts'
import { NOW, signed } from '../support/signed-tokens.ts'
import { deployedAccess, FIREBASE } from '../support/token-kinds.ts'
import { until } from '../support/until.ts'

jest.setTimeout(240_000)
const service = await inProcess(
  deployedAccess(() => NOW),
  [],
  () => NOW,
)
afterAll(() => service[Symbol.asyncDispose]())

const AT_ONCE = 64

type Ask = (method: string, path: string, body?: string, signal?: AbortSignal) => Promise<Response>

/** What a user asks for, with a token of their own. */
function userOf(uid: string): Ask {
  const headers = { Authorization: `Bearer ${signed(FIREBASE, { sub: uid, user_id: uid })}` }
  return (method, path, body, signal) =>
    fetch(service.url + path, { method, headers, body: body ?? null, signal: signal ?? null })
}

/** A definition whose calls the service answers itself. */
function echo(name: string, parameters: JsonObject = {}): string {
  const { function: its, ...rest } = tool(name)
  const runner = { kind: 'builtin', builtin: 'echo' }
  return JSON.stringify({
    ...rest,
    runner,
    function: { ...its, parameters: { type: 'object', ...parameters } },
  })
}

const text = { properties: { text: { type: 'string', pattern: '^[a-z]+$' } }, required: ['text'] }

/** Sends the same on many connections until it is stopped, and counts the answers by status. */
function flood(ask: Ask, method: string, path: string, body: string) {
  const gone = new AbortController()
  const statuses = new Map<number, number>()
  const without: number[] = []
  async function sendOn(): Promise<void> {
    while (!gone.signal.aborted) {
      const answer = await ask(method, path, body, gone.signal)
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      const isBusy = answer.status === 429
      if (isBusy !== (answer.headers.get('retry-after') !== null)) without.push(answer.status)
      await answer.arrayBuffer()
    }
  }
  const all = Promise.allSettled(Array.from({ length: AT_ONCE }, () => sendOn()))
  return {
    refused: () =>
      until(
        () => Promise.resolve(statuses.get(429) ?? 0),
        (count) => count > 0,
      ),
    async stop() {
      gone.abort()
      await all
      return { statuses: [...statuses.keys()].toSorted(), without }
    },
  }
}

/** What another user does meanwhile: each of it succeeds. */
async function worksOn(ask: Ask, name: string): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const own = `${name}_${round}`
    expect((await ask('PUT', `/workflows/tools/defs/${own}`, echo(own, text))).status).toBe(201)
    const call = JSON.stringify({ name: own, arguments: { text: 'abc' } })
    for (let calls = 0; calls < 3; calls += 1) {
      const answer = await ask('POST', '/workflows/tools/invoke', call)
      expect([answer.status, await answer.json()]).toMatchObject([200, { resultType: 'success' }])
    }
    const many = Array.from(
      { length: 4 },
      (_, index) => JSON.parse(echo(`${own}_${index}`, text)) as JsonObject,
    )
    const large = JSON.stringify(many).padEnd(100 * 1024)
    expect((await ask('POST', '/workflows/tools/defs', large)).status).toBe(200)
    const listed = await ask('GET', `/workflows/tools/list?names=${own}`)
    expect(await listed.json()).toMatchObject([{ function: { name: own } }])
  }
}

type Queues = { readonly [name in 'schemas' | 'arguments' | 'bodies']: JsonObject }
async function queuesOf(ask: Ask): Promise<Queues> {
  return ((await (await ask('GET', '/health')).json()) as { queues: Queues }).queues
}

test('beside a user who sends the worst schemas without pause, others write, call and list', async () => {
  const [ann, bob] = [userOf('ann'), userOf('bob')]
  const slow = echo('slow', slowSchema())
  const worst = flood(ann, 'PUT', '/workflows/tools/defs/slow', slow)
  await worst.refused()
  await worksOn(bob, 'schemas')
  // When one has ended, there are 31 until the next is here.
  const { schemas } = await until(
    () => queuesOf(bob),
    (queues) => queues.schemas['waiting'] === 32,
  )
  expect(schemas).toMatchObject({ places: 2, usersWaiting: 1 })
  const { statuses, without } = await worst.stop()
  expect([statuses.includes(429), without]).toEqual([true, []])
  expect(statuses.filter((status) => ![200, 201, 422, 429].includes(status))).toEqual([])
})

test('beside a user who sends the worst arguments without pause, others write, call and list', async () => {
  const [ann, bob] = [userOf('dan'), userOf('bob')]
  const pairs = echo('pairs', { properties: { list: { type: 'array', uniqueItems: true } } })
  expect((await ann('PUT', '/workflows/tools/defs/pairs', pairs)).status).toBe(201)
  const list = Array.from({ length: 1_700 }, (_, a) => ({ a }))
  const call = JSON.stringify({ name: 'pairs', arguments: { list } })
  const worst = flood(ann, 'POST', '/workflows/tools/invoke', call)
  await worst.refused()
  await worksOn(bob, 'arguments')
  const queues = await until(
    () => queuesOf(bob),
    (queues) => queues.arguments['usersWaiting'] === 1,
  )
  expect(queues.arguments).toMatchObject({ places: 2 })
  const { statuses, without } = await worst.stop()
  expect([statuses.includes(429), without]).toEqual([true, []])
  expect(statuses.filter((status) => ![200, 400, 429].includes(status))).toEqual([])
})

test('beside a user who sends large bodies without pause, others write, call and list', async () => {
  const [ann, bob] = [userOf('eve'), userOf('bob')]
  const use = { type: 'tool_use', name: 'ECHO', input: { a: Array.from({ length: 84_000 }, () => ({})) } }
  const calls = JSON.stringify(Array.from({ length: 4 }, (_, index) => ({ ...use, id: `c${index}` })))
  const worst = flood(ann, 'POST', '/workflows/tools/dispatch', calls)
  await worst.refused()
  await worksOn(bob, 'bodies')
  const { bodies } = await queuesOf(bob)
  expect(bodies).toMatchObject({ places: 1 })
  expect(Number(bodies['bytes'])).toBeLessThanOrEqual(Number(bodies['bytesMax']) / 2)
  const { statuses, without } = await worst.stop()
  expect([statuses, without]).toEqual([[200, 429], []])
})

test('what a user asked for who has gone is not checked any more', async () => {
  const [cid, bob] = [userOf('cid'), userOf('bob')]
  const gone = new AbortController()
  const slow = Array.from(
    { length: 20 },
    (_, index) => JSON.parse(echo(`slow_${index}`, slowSchema())) as JsonObject,
  )
  const left = cid('POST', '/workflows/tools/defs?onInvalid=skip', JSON.stringify(slow), gone.signal)
  const refused = expect(left).rejects.toThrow()
  const running = async (): Promise<number> => Number((await queuesOf(bob)).schemas['running'])
  await until(running, (count) => count === 1)
  gone.abort()
  await refused
  await until(running, (count) => count === 0)
  // The rest of the bulk would wait for the pause that its user has, and its body would still be counted.
  expect(await queuesOf(bob)).toMatchObject({ schemas: { waiting: 0 }, bodies: { bytes: 0 } })
})
