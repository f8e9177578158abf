import { expect } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { invoked } from '../support/invocation.ts'
import { serverWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { failedStart, type Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { WEATHER } from '../support/weather-module.ts'

const KILL = fileURLToPath(new URL('../support/kill-at-record.ts', import.meta.url))

async function json(server: Server, path: string): Promise<JsonObject> {
  return (await (await server.fetch(path)).json()) as JsonObject
}
async function recordsOf(server: Server): Promise<readonly JsonObject[]> {
  const { records } = await json(server, '/workflows/audit?limit=1000')
  return (records as readonly JsonObject[]).toReversed()
}
const isLost = (record: JsonObject): boolean => record['lost'] === true
const lostOf = (server: Server, count: number): Promise<readonly JsonObject[]> =>
  until(
    async () => (await recordsOf(server)).filter(isLost),
    (lost) => lost.length >= count,
  )

/** Begins calls whose tool sleeps, and waits until all of them run. */
async function beginSlow(server: Server, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1)
    void invoked(server, 'weather:slow', { seconds: 1_000 }).catch(() => undefined)
  await until(
    async () => (await json(server, '/health'))['runner'] as { calls?: { running: number } },
    ({ calls }) => calls?.running === count,
  )
}

async function expectWhole(server: Server): Promise<void> {
  expect(await json(server, '/workflows/audit/verify')).toMatchObject({ ok: true, fault: null })
}

withPython(
  'a call that ran when the service was killed has one record, however often it is killed',
  async () => {
    await using server = await serverWithRunner()
    await uploaded(server, 'weather', WEATHER)
    expect((await invoked(server, 'weather:get', { location: 'Bern' }))[0]).toBe(200)
    await beginSlow(server, 2)
    await server.kill9()

    // The first two starts are killed while they record what was lost: before the record, and after it.
    for (const when of ['before', 'after']) {
      const env = { NODE_OPTIONS: `--import=${KILL}`, KILL_AT_RECORD: when }
      expect((await failedStart({ data: server.data, env })).signal).toBe('SIGKILL')
    }
    await server.restart()
    const lost = await lostOf(server, 2)
    expect(lost).toHaveLength(2)
    for (const record of lost)
      expect(record).toMatchObject({
        kind: 'call',
        phase: 'end',
        tool: 'weather:slow',
        outcome: 'UNKNOWN_OUTCOME',
        decision: 'allow',
        digest: expect.stringMatching(/^sha256:/),
        arguments: { seconds: 1_000 },
        argumentsHash: expect.stringMatching(/^sha256:/),
        principal: { kind: 'user', uid: 'local', token: 'printed' },
        durationMs: null,
        subject: { startedAt: expect.stringMatching(/^\d{4}-.*Z$/) },
      })
    const ids = lost.map(({ invocationId }) => invocationId)
    expect(new Set(ids).size).toBe(2)
    await expectWhole(server)

    // What was recorded is not recorded again by later starts, and a later call is.
    await server.kill9()
    await server.restart()
    await until(
      async () => (await json(server, '/health'))['runner'] as { status: string },
      ({ status }) => status === 'ready',
    )
    await beginSlow(server, 1)
    await server.kill9()
    await server.restart()
    const all = await lostOf(server, 3)
    expect(all).toHaveLength(3)
    expect(all.slice(0, 2).map(({ invocationId }) => invocationId)).toEqual(ids)
    const ended = (await recordsOf(server)).filter(({ phase }) => phase === 'end')
    expect(new Set(ended.map(({ invocationId }) => invocationId)).size).toBe(ended.length)
    await expectWhole(server)
    await server.stop()
    expect(readFileSync(join(server.data, 'running-calls'), 'utf8')).toBe('')
  },
)

withPython(
  'required: the record of the start gets an end; an upload that was checked has a record too',
  async () => {
    await using server = await serverWithRunner({ env: { TOOLRACK_AUDIT: 'required' } })
    await uploaded(server, 'weather', WEATHER)
    await beginSlow(server, 1)
    const [start] = (await recordsOf(server)).slice(-1)
    expect(start).toMatchObject({ kind: 'call', phase: 'start' })
    const source = 'import time\ntime.sleep(1000)\nTOOL_SPECS = []\n'
    const path = '/workflows/tools/modules/sleeps'
    void server.fetch(path, { method: 'PUT', body: source }).catch(() => undefined)
    await until(
      () => recordsOf(server),
      (records) => records.at(-1)?.['kind'] === 'write',
    )
    await server.kill9()
    await server.restart()
    const [call, write] = (await lostOf(server, 2)).toSorted((a) => (a['kind'] === 'call' ? -1 : 1))
    expect(call).toMatchObject({ phase: 'end', invocationId: start?.['invocationId'], tool: 'weather:slow' })
    expect(write).toMatchObject({
      kind: 'write',
      phase: 'end',
      outcome: 'UNKNOWN_OUTCOME',
      subject: { route: 'PUT /tools/modules/:name', names: ['sleeps'], startedAt: expect.any(String) },
    })
    await expectWhole(server)
  },
)
