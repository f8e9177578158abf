import { afterAll, expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { absentRunner, type RunnerOutcome } from '../../../../functions/src/catalog/definitions/runner.ts'
import { tool } from '../../../support/definition-changes.ts'
import { memoryGovernance } from '../../../support/memory-governance.ts'
import { routeService, type Asker } from '../../../support/route-service.ts'
import { until } from '../../../support/until.ts'

function python(name: string, module: string): ToolDefinition {
  return { ...tool(name), runner: { kind: 'python', module, sha256: 'a'.repeat(64) }, tags: [module] }
}

const clock = { steadyMs: 0 }
/** The names of the tools that crash now. */
const crashing = new Set<string>()

function invoke({ tool: name }: { readonly tool: string }): Promise<RunnerOutcome> {
  const ran = { isolation: 'L2', usage: { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }, log: NO_LOG } as const
  const failure = { ...ran, code: 'TOOL_CRASHED', error: 'It ended its process.' } as const
  return Promise.resolve(crashing.has(name) ? failure : { ...ran, text: 'sunny' })
}

const NO_LOG = { text: '', truncated: false }
const ask = await routeService(
  [
    python('weather:get', 'weather'),
    python('weather:far', 'weather'),
    python('news:get', 'news'),
    tool('own'),
  ],
  { runner: { ...absentRunner('It checks nothing.'), invoke }, steadyMs: () => clock.steadyMs },
)

const governance = memoryGovernance()
afterAll(() => governance.close())
/** Two instances over one store, which other processes use too. */
const [one, other] = await Promise.all(
  [0, 1].map(() =>
    routeService([python('shared:get', 'shared')], {
      runner: { ...absentRunner('It checks nothing.'), invoke },
      steadyMs: () => clock.steadyMs,
      governance: { ...governance, process: undefined, close: () => Promise.resolve() },
    }),
  ),
)

async function call(name: string, who: Asker = 'ann', sent: Readonly<Record<string, string>> = {}) {
  const asked = { body: { name }, headers: sent }
  const { status, code, headers } = await ask(who, 'POST /tools/invoke', asked)
  return [status, code, headers.get('Retry-After')] as const
}
async function open(name: string, ...users: readonly Asker[]): Promise<void> {
  crashing.add(name)
  for (const who of users) for (let n = 0; n < 5; n += 1) await call(name, who)
  crashing.delete(name)
}
async function list(query: string, who: Asker = 'ann') {
  const { body, headers } = await ask(who, `GET /tools/list?${query}`)
  const names = (body as unknown as readonly ToolDefinition[]).map((one) => one.function.name)
  return [names, headers.get('X-Tools-Unavailable')] as const
}
const circuitOf = async (name: string, who: Asker = 'ann') =>
  (await ask(who, `GET /tools/explain?name=${name}`)).body['circuit']

test('a tool that fails again and again is refused, explained, left out of healthy lists, and comes back by itself', async () => {
  expect(await circuitOf('weather:get')).toEqual({ state: 'closed' })
  const healthy = await ask('ann', 'GET /tools/list?healthy=1')
  expect(await list('healthy=1')).toEqual([['news:get', 'own', 'weather:far', 'weather:get'], null])

  await open('weather:get', 'ann')
  expect(await call('weather:get')).toEqual([503, 'TOOL_UNAVAILABLE', '60'])
  expect(await circuitOf('weather:get')).toEqual({ state: 'open', for: 'you', until: expect.any(String) })
  expect(await list('healthy=1')).toEqual([['news:get', 'own', 'weather:far'], 'weather:get'])
  const headers = { 'If-None-Match': healthy.headers.get('ETag') ?? '' }
  const changed = await ask('ann', 'GET /tools/list?healthy=1', { headers })
  expect(changed.status).toBe(200)
  expect(changed.headers.get('X-Tools-Revision')).toBe(healthy.headers.get('X-Tools-Revision'))
  expect(await list('')).toEqual([['news:get', 'own', 'weather:far', 'weather:get'], null])
  expect([await circuitOf('weather:get', 'bob'), (await call('weather:get', 'bob'))[0]]).toEqual([
    { state: 'closed' },
    200,
  ])
  expect(await list('healthy=1', 'bob')).toEqual([['news:get', 'own', 'weather:far', 'weather:get'], null])

  clock.steadyMs += 60_000
  expect(await circuitOf('weather:get')).toEqual({ state: 'half-open', for: 'you' })
  expect((await ask('ann', 'GET /tools/list?healthy=1', { headers })).status).toBe(304)
  expect((await call('weather:get'))[0]).toBe(200)
  expect(await circuitOf('weather:get')).toEqual({ state: 'closed' })
})

test('a tool that fails for three users is called by nobody', async () => {
  await open('news:get', 'ann', 'bob')
  expect(await circuitOf('news:get', 'admin')).toEqual({ state: 'closed' })
  await open('news:get', 'admin')
  const isOpen = { state: 'open', for: 'everybody', until: expect.any(String) }
  expect(await circuitOf('news:get', 'ann')).toEqual(isOpen)
  clock.steadyMs += 60_000
  expect((await call('news:get', 'bob'))[0]).toBe(200)
  expect(await circuitOf('news:get', 'bob')).toEqual({ state: 'closed' })
})

test('a healthy list leaves an open tool out of names, tags, pages, budgets and searches, and names it where the list would have it', async () => {
  await open('weather:far', 'bob')
  expect(await list('healthy=1&names=weather:far,own', 'bob')).toEqual([['own'], 'weather:far'])
  expect(await list('healthy=1&names=own', 'bob')).toEqual([['own'], null])
  expect(await list('healthy=1&tags=weather', 'bob')).toEqual([['weather:get'], 'weather:far'])
  expect(await list('healthy=1&tags=news', 'bob')).toEqual([['news:get'], null])
  expect(await list('healthy=1&limit=2', 'bob')).toEqual([['news:get', 'own'], 'weather:far'])
  expect(await list('healthy=1&budget=100000', 'bob')).toEqual([
    ['news:get', 'own', 'weather:get'],
    'weather:far',
  ])
  expect(await list('healthy=1&names=own&loaded=weather:far', 'bob')).toEqual([['own'], 'weather:far'])
  const [found] = await list('healthy=1&q=weather', 'bob')
  expect(found).toContain('weather:get')
  expect(found).not.toContain('weather:far')
  expect(await list('healthy=0&tags=weather', 'bob')).toEqual([['weather:far', 'weather:get'], null])
})

test('a refused call has used up neither its key nor its approval, and a dry run asks no circuit', async () => {
  await open('news:get', 'ann')
  const key = { 'Idempotency-Key': 'k1' }
  expect(await call('news:get', 'ann', key)).toEqual([503, 'TOOL_UNAVAILABLE', '60'])
  const tried = await ask('ann', 'POST /tools/invoke?dryRun=1', { body: { name: 'news:get' } })
  expect(tried).toMatchObject({ status: 200, body: { decision: 'allow' } })
  clock.steadyMs += 60_000
  expect((await call('news:get', 'ann', key))[0]).toBe(200)

  await open('news:get', 'ann')
  await ask('ann', 'PUT /rules/user/ann', { body: { rules: [{ effect: 'ask', tool: 'news:get' }] } })
  const { body } = await ask('ann', 'POST /tools/invoke', { body: { name: 'news:get' } })
  const { id } = (body['meta'] as { readonly approval: { readonly id: string } }).approval
  await ask('ann', `POST /approvals/${id}`, { body: { decision: 'once' } })
  const approved = { body: { name: 'news:get', approval: id } }
  expect(await ask('ann', 'POST /tools/invoke', approved)).toMatchObject({ code: 'TOOL_UNAVAILABLE' })
  clock.steadyMs += 60_000
  expect(await ask('ann', 'POST /tools/invoke', approved)).toMatchObject({ status: 200 })
  await ask('ann', 'DELETE /rules/user/ann')
})

test('what is open for everybody at one instance is soon open at another', async () => {
  crashing.add('shared:get')
  const asked = { body: { name: 'shared:get' } }
  for (const who of ['ann', 'bob', 'admin'] as const)
    for (let n = 0; n < 5; n += 1) await one?.(who, 'POST /tools/invoke', asked)
  crashing.delete('shared:get')
  expect(await other?.('account', 'POST /tools/invoke', asked)).toMatchObject({ status: 200 })
  const answer = await until(
    async () => {
      clock.steadyMs += 10_000
      return other?.('ann', 'GET /tools/list?healthy=1')
    },
    (list) => list?.headers.get('X-Tools-Unavailable') === 'shared:get',
  )
  expect(answer?.body).toEqual([])
  expect(await other?.('account', 'POST /tools/invoke', asked)).toMatchObject({ code: 'TOOL_UNAVAILABLE' })
})

test('a tool of the client has no circuit, and explain takes no healthy', async () => {
  expect(await circuitOf('own')).toBeUndefined()
  expect(await ask('ann', 'GET /tools/explain?name=own&healthy=1')).toMatchObject({
    status: 400,
    code: 'PARAMETER_UNKNOWN',
  })
})
