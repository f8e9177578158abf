import { afterAll, expect, test } from '@jest/globals'
import { request } from 'node:http'
import { tool } from '../../../support/definition-changes.ts'
import { inProcess } from '../../../support/in-process.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { deployedAccess, FIREBASE } from '../../../support/token-kinds.ts'

const SECRET_NAME = 'names:of_users_tools'
const ECHO = { ...tool(SECRET_NAME), runner: { kind: 'builtin', builtin: 'echo' } } as const
const runner = {
  ...readingRunner(),
  health: () =>
    Promise.resolve({
      status: 'ready',
      isolation: 'L3',
      calls: { running: 2, waiting: 5, places: 8 },
      checks: 'none',
    } as const),
}
const access = () => deployedAccess(() => NOW)
const service = await inProcess(access(), [ECHO], () => NOW, { runner })
const open = await inProcess(access(), [ECHO], () => NOW, { runner, settings: { TOOLRACK_METRICS: 'local' } })
afterAll(() => Promise.all([service[Symbol.asyncDispose](), open[Symbol.asyncDispose]()]))

const bearer = (claims: Readonly<Record<string, string | boolean>>) => ({
  Authorization: `Bearer ${signed(FIREBASE, claims)}`,
})
const ADMIN = bearer({ sub: 'root', toolrackAdmin: true })
const ANN = bearer({ sub: 'ann-of-the-users' })

/** Asks with exactly these headers. `fetch` would add some, and does not let the host be set. */
function metricsOf({ url }: { readonly url: string }, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<{ status: number | undefined; type: string | undefined; text: string }>(
    (resolve, reject) => {
      request(`${url}/metrics`, { headers }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        const { statusCode: status, headers: answered } = answer
        answer.on('end', () => resolve({ status, type: answered['content-type'], text }))
      })
        .on('error', reject)
        .end()
    },
  )
}

test('an admin reads the numbers of the process, without names of users and tools', async () => {
  for (const name of [SECRET_NAME, SECRET_NAME, 'none'])
    await fetch(`${service.url}/workflows/tools/invoke`, {
      method: 'POST',
      headers: ANN,
      body: JSON.stringify({ name, arguments: { text: 'a' } }),
    })
  await (await fetch(`${service.url}/workflows/tools/list`, { headers: ANN })).text()
  const { status, type, text } = await metricsOf(service, ADMIN)
  expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  for (const line of [
    'toolrack_calls_total{code="OK"} 2',
    'toolrack_calls_total{code="TOOL_NOT_FOUND"} 1',
    'toolrack_call_duration_seconds_count 2',
    'toolrack_lists_total{answer="sent"} 1',
    'toolrack_queue_running{queue="runnerCalls"} 2',
    'toolrack_queue_waiting{queue="runnerCalls"} 5',
    'toolrack_runner_ready 1',
  ])
    expect(text.split('\n')).toContain(line)
  expect(text).toMatch(/^toolrack_event_loop_delays_total \d+$/m)
  expect(text).not.toContain('ann-of')
  expect(text).not.toContain(SECRET_NAME)
  for (const line of text.trimEnd().split('\n'))
    expect(line).toMatch(/^# (?:HELP|TYPE) [a-z_]+ \S|^[a-z_]+(?:\{[a-z]+="[\w.+]+"\})? [\d.e+-]+$/)
})

test.each([
  ['nobody', {}, 401],
  ['a user', ANN, 403],
])('%s may not read them, also on the same machine', async (_who, headers, expected) => {
  expect(await metricsOf(service, headers)).toMatchObject({ status: expected })
})

test('if the operator lets programs of the machine read them, these need no token', async () => {
  expect(await metricsOf(open)).toMatchObject({ status: 200 })
  expect(await metricsOf(open, ADMIN)).toMatchObject({ status: 200 })
})

test.each([
  ['a request that a proxy passes on', { 'X-Forwarded-For': '192.0.2.1' }],
  ['a page that its DNS has led to this machine', { Host: 'attacker.example' }],
  ['a page of another origin', { Origin: 'https://attacker.example' }],
])('%s needs the token of an admin nevertheless', async (_what, headers) => {
  expect(await metricsOf(open, headers)).toMatchObject({ status: 401 })
  expect(await metricsOf(open, { ...headers, ...ANN })).toMatchObject({ status: 403 })
  expect(await metricsOf(open, { ...headers, ...ADMIN })).toMatchObject({ status: 200 })
})
