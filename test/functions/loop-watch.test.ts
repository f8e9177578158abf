import { afterAll, expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { logOf } from '../../functions/src/log.ts'
import { DELAY_MS } from '../../functions/src/running-work.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import { tool } from '../support/definition-changes.ts'
import { inProcess } from '../support/in-process.ts'
import { until } from '../support/until.ts'

const PYTHON: ToolDefinition = {
  ...tool('notes:read'),
  runner: { kind: 'python', module: 'notes', sha256: 'a'.repeat(64) },
}
const ANN = { kind: 'user', uid: 'ann', isAdmin: false } as const
const USERS = { ann: ANN, bob: { ...ANN, uid: 'bob' }, admin: { ...ANN, uid: 'root', isAdmin: true } }

function usedMs(): number {
  return process.threadCpuUsage().user / 1_000
}

/** A service whose runner blocks the loop, after it has waited for a moment. */
const logged: { readonly level: string; readonly message: string; readonly [field: string]: unknown }[] = []
const clock = { ms: Date.parse('2026-01-02T03:04:05Z') }
const service = await inProcess(
  {
    authenticate: ({ authorization }) => USERS[authorization as keyof typeof USERS],
    signJobToken: undefined,
  },
  [PYTHON],
  () => clock.ms,
  {
    log: logOf((level, message, fields) => void logged.push({ level, message, ...fields })),
    runner: {
      ...absentRunner('It blocks.'),
      async invoke() {
        await new Promise((resolve) => setTimeout(resolve, 5))
        const end = usedMs() + 1.5 * DELAY_MS
        while (usedMs() < end);
        return { code: 'WORKER_DIED', error: 'It has blocked.' } as const
      },
    },
  },
)
afterAll(() => service[Symbol.asyncDispose]())

type Health = { readonly delays?: readonly { readonly [field: string]: unknown }[] }

const ask = (who: keyof typeof USERS, path: string, init: RequestInit = {}) =>
  fetch(`${service.url}${path}`, { ...init, headers: { Authorization: who } })
const healthFor = async (who: keyof typeof USERS): Promise<Health> =>
  (await ask(who, '/health')).json() as Promise<Health>

async function block(): Promise<void> {
  const body = JSON.stringify({ name: 'notes:read', arguments: {} })
  const blocked = ask('ann', '/workflows/tools/invoke', { method: 'POST', body })
  const lists = Array.from({ length: 10 }, () => ask('bob', '/workflows/tools/list'))
  const answers = await Promise.all([blocked, ...lists])
  expect(await answers[0].text()).toContain('It has blocked.')
  for (const answer of answers.slice(1)) await answer.text()
}

const linesAbout = (uid: string) =>
  logged.filter((line) => line.message === 'the event loop was delayed' && line['uid'] === uid)

test('the log and /health name the route and the user whose work has blocked the loop', async () => {
  await block()
  const { delays } = await until(
    () => healthFor('admin'),
    (health) => (health.delays ?? []).length > 0,
  )
  expect(delays).toEqual([
    {
      at: '2026-01-02T03:04:05.000Z',
      route: 'POST /workflows/tools/invoke',
      uid: 'ann',
      ms: expect.any(Number),
      ranMs: expect.any(Number),
      processorMs: expect.any(Number),
    },
  ])
  expect(linesAbout('ann')).toEqual([
    {
      level: 'warn',
      message: 'the event loop was delayed',
      route: 'POST /workflows/tools/invoke',
      uid: 'ann',
      times: 1,
      ms: delays?.[0]?.['ms'],
      ranMs: delays?.[0]?.['ranMs'],
      processorMs: delays?.[0]?.['processorMs'],
    },
  ])
  expect(delays?.[0]?.['ms']).toBeGreaterThan(DELAY_MS)
  expect(linesAbout('bob')).toEqual([])
})

test('only an admin reads whose work has blocked the loop', async () => {
  expect(await healthFor('ann')).not.toHaveProperty('delays')
  expect(JSON.stringify(await healthFor('bob'))).not.toContain('"ann"')
  expect(await (await fetch(`${service.url}/health`)).json()).not.toHaveProperty('delays')
})

test('the log has one line about a user in ten seconds, which says how often it was', async () => {
  const before = linesAbout('ann').length
  for (let times = 0; times < 2; times += 1) {
    clock.ms += 1_000
    await block()
    await until(
      () => healthFor('admin'),
      ({ delays = [] }) =>
        delays.some(({ at, uid }) => uid === 'ann' && at === new Date(clock.ms).toISOString()),
    )
  }
  expect(linesAbout('ann')).toHaveLength(before)
  clock.ms += 10_000
  await block()
  await until(
    () => Promise.resolve(linesAbout('ann').length),
    (length) => length > before,
  )
  expect(linesAbout('ann').at(-1)).toMatchObject({ times: 3 })
})
