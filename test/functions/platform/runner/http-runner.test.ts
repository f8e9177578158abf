import { afterAll, expect, test } from '@jest/globals'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RunnerAway } from '../../../../functions/src/catalog/definitions/runner.ts'
import type { HealthPatience } from '../../../../functions/src/platform/runner/health-probe.ts'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import type { RunnerEndpoint } from '../../../../functions/src/platform/runner/runner-request.ts'

const SECRET = 'a secret of sixteen'

/** A test that ran out of time leaves its server behind, and jest would wait for it for ever. */
const servers = new Set<Server>()
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

/** A runner that answers as it is told to. */
async function answering(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  servers.add(server)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const address: RunnerEndpoint = { url: `http://127.0.0.1:${port}`, secret: SECRET }
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { address, close, [Symbol.asyncDispose]: () => (server.listening ? close() : Promise.resolve()) }
}

function runnerAt(address: RunnerEndpoint | RunnerAway, patience: Partial<HealthPatience> = {}): HttpRunner {
  return new HttpRunner({ endpoint: () => address, patience })
}

const healthy = { status: 'ok', version: '0.1.0', isolation: 'L2', layers: [], attacks: [{ name: 'fork' }] }

test('what the runner says of itself is what the service knows, asked with the secret', async () => {
  const asked: unknown[] = []
  await using there = await answering((req, res) => {
    asked.push([req.method, req.url, req.headers.authorization])
    res.end(JSON.stringify(healthy))
  })
  expect(await runnerAt(there.address).health()).toEqual({ ...healthy, status: 'ready' })
  expect(asked).toEqual([['GET', '/health', `Bearer ${SECRET}`]])
})

test('however many ask, the runner is asked once while the answer is fresh, and then again', async () => {
  let asked = 0
  await using there = await answering((_req, res) =>
    res.end(JSON.stringify({ ...healthy, asked: (asked += 1) })),
  )
  const runner = runnerAt(there.address, { freshMs: 3_600_000 })
  await Promise.all([runner.health(), runner.health()])
  expect(await runner.health()).toMatchObject({ asked: 1 })
  const impatient = runnerAt(there.address, { freshMs: 0 })
  await impatient.health()
  expect(await impatient.health()).toMatchObject({ asked: 3 })
})

test('another address is another runner: nothing of the last one is remembered', async () => {
  await using first = await answering((_req, res) => res.end(JSON.stringify(healthy)))
  await using second = await answering((_req, res) =>
    res.end(JSON.stringify({ ...healthy, isolation: 'L3' })),
  )
  let address = first.address
  const runner = new HttpRunner({ endpoint: () => address, patience: { freshMs: 3_600_000 } })
  expect(await runner.health()).toMatchObject({ isolation: 'L2' })
  address = second.address
  expect(await runner.health()).toMatchObject({ isolation: 'L3' })
})

test.each([
  [401, '{}', 'The runner refuses the secret of this service.'],
  [403, '', 'The runner refuses the secret of this service.'],
  [
    200,
    '{"status":"ok","version":"0.1.0","isolation":"L2"}',
    'The runner refuses the secret of this service.',
  ],
  [502, 'Bad gateway', 'The runner answers with HTTP 502.'],
  [200, 'Welcome!', 'The runner sent an answer that is not valid.'],
  [200, 'null', 'The runner sent an answer that is not valid.'],
  [200, '{"status":"ok","isolation":"L9","layers":[]}', 'The runner sent an answer that is not valid.'],
])('an answer of %i %s is no runner to call', async (status, body, reason) => {
  await using there = await answering((_req, res) => res.writeHead(status).end(body))
  expect(await runnerAt(there.address).health()).toEqual({ status: 'unreachable', reason })
})

test('one that answers and can not take calls is starting', async () => {
  const body = JSON.stringify({ ...healthy, status: 'degraded' })
  await using there = await answering((_req, res) => res.end(body))
  expect(await runnerAt(there.address).health()).toMatchObject({ status: 'starting' })
})

test('one that sends us elsewhere is not followed with the secret', async () => {
  let followed = false
  await using elsewhere = await answering((_req, res) => res.end(String((followed = true))))
  await using there = await answering((_req, res) =>
    res.writeHead(307, { Location: `${elsewhere.address.url}/health` }).end(),
  )
  expect(await runnerAt(there.address).health()).toMatchObject({ status: 'unreachable' })
  expect(followed).toBe(false)
})

test('one that has gone is unreachable, and says how', async () => {
  const there = await answering((_req, res) => res.end())
  await there.close()
  expect(await runnerAt(there.address).health()).toEqual({
    status: 'unreachable',
    reason: 'The runner does not answer (ECONNREFUSED).',
  })
})

test('a silent one keeps nobody longer than its deadline: it is starting for a while, then unreachable', async () => {
  await using there = await answering(() => undefined)
  const patience = { deadlineMs: 50, freshMs: 0 }
  expect(await runnerAt(there.address, patience).health()).toEqual({
    status: 'starting',
    reason: 'The runner has not answered yet.',
  })
  expect(await runnerAt(there.address, { ...patience, startingMs: 0 }).health()).toEqual({
    status: 'unreachable',
    reason: 'The runner has not answered within 50 ms.',
  })
})

test('one that has answered once and falls silent is unreachable', async () => {
  let answers = 0
  await using there = await answering((_req, res) => {
    answers += 1
    if (answers === 1) res.end(JSON.stringify(healthy))
  })
  const runner = runnerAt(there.address, { deadlineMs: 3_000, freshMs: 0 })
  expect(await runner.health()).toMatchObject({ status: 'ready' })
  expect(await runner.health()).toMatchObject({ status: 'unreachable' })
})

test('one that answers in time is not judged by how long our own loop was blocked', async () => {
  await using there = await answering((_req, res) => res.end(JSON.stringify(healthy)))
  const asking = runnerAt(there.address, { deadlineMs: 600, startingMs: 0 }).health()
  setImmediate(() => {
    const end = performance.now() + 1_000
    while (performance.now() < end);
  })
  expect(await asking).toMatchObject({ status: 'ready' })
})

test('where there is no runner nobody is asked', async () => {
  const away: RunnerAway = { status: 'starting', reason: 'Wait.' }
  expect(await runnerAt(away).health()).toBe(away)
})
