import { afterAll, expect, test } from '@jest/globals'
import { definitionDigest, type ToolDefinition } from '@toolrack/contract'
import { absentRunner, type RunnerCall } from '../../../../functions/src/catalog/definitions/runner.ts'
import { allEvents } from '../../../support/call-events.ts'
import { tool } from '../../../support/definition-changes.ts'
import { inProcess } from '../../../support/in-process.ts'
import { shippedTool } from '../../../support/shipped-tool.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from '../../../support/token-kinds.ts'

function python(name: string): ToolDefinition {
  return { ...tool(name), runner: { kind: 'python', module: 'live', sha256: 'a'.repeat(64) } }
}

const REPORT = python('live:report')
const facts = { isolation: 'L2', usage: { wallMs: 1, cpuMs: 1, maxRssBytes: 1 } } as const

/** Two calls of `live:both` end only when both have printed. */
let both = Promise.withResolvers<void>()
let begun = 0

/** A runner that tells what a tool prints, and then how the call ended. */
async function invoke({ tool: name, listen, arguments: args }: RunnerCall) {
  const printed = `${(args['text'] as string | undefined) ?? 'begun'}\n`
  await listen?.({ type: 'log', text: printed })
  const log = { text: printed, truncated: false }
  if (name === 'live:late')
    return { code: 'DEADLINE_EXCEEDED', error: 'It took too long.', log, ...facts } as const
  if (name === 'live:both') {
    begun += 1
    if (begun === 2) both.resolve()
    await both.promise
  }
  return { json: '{"done": 1.0}', log, ...facts } as const
}

const service = await inProcess(
  deployedAccess(() => NOW),
  [shippedTool('echo'), REPORT, python('live:late'), python('live:both'), tool('CLIENT')],
  () => NOW,
  { runner: { ...absentRunner('It checks nothing.'), invoke } },
)
afterAll(() => service[Symbol.asyncDispose]())

const TOKENS = {
  user: signed(FIREBASE, { sub: 'ann' }),
  account: signed(OIDC),
  job: signed(JOB, { uid: 'ann', tools: [{ name: 'live:report', digest: definitionDigest(REPORT) }] }),
}

const EVENTS = { Accept: 'text/event-stream' }

function call(
  name: string,
  args: object = {},
  headers: Readonly<Record<string, string>> = EVENTS,
  who: keyof typeof TOKENS = 'user',
): Promise<Response> {
  const family = who === 'user' ? 'workflows' : 'jobs'
  return fetch(`${service.url}/${family}/tools/invoke`, {
    method: 'POST',
    body: JSON.stringify({ name, arguments: args }),
    headers: { Authorization: `Bearer ${TOKENS[who]}`, 'X-User-Id': 'ann', ...headers },
  })
}

test('a built-in tool has a start and a result', async () => {
  expect(await allEvents(await call('ECHO', { text: 'a' }))).toMatchObject([
    { type: 'start' },
    { type: 'result', resultType: 'success', textResultForLlm: 'a' },
  ])
})

test('without the header the same call is plain JSON with the same result', async () => {
  const plain = await call('live:report', {}, {})
  const events = await allEvents(await call('live:report'))
  const { meta: _meta, ...result } = (await plain.json()) as { meta: object }
  expect([plain.status, plain.headers.get('Content-Type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(events.at(-1)).toMatchObject({ type: 'result', ...result })
})

test('a failure in a stream is its result, after the lines until then', async () => {
  const answer = await call('live:late')
  expect(answer.status).toBe(200)
  expect(await allEvents(answer)).toMatchObject([
    { type: 'start' },
    { type: 'log', text: 'begun\n' },
    { type: 'result', resultType: 'failure', code: 'DEADLINE_EXCEEDED' },
  ])
})

test('two streams at once have their own events each', async () => {
  both = Promise.withResolvers<void>()
  begun = 0
  const streams = ['one', 'two'].map(async (text) => allEvents(await call('live:both', { text })))
  const heard = (await Promise.all(streams)).map((events) => events.filter(({ type }) => type === 'log'))
  expect(heard).toEqual([[{ type: 'log', text: 'one\n' }], [{ type: 'log', text: 'two\n' }]])
})

test.each(['account', 'job'] as const)('a job streams too, by the token of the kind %s', async (who) => {
  const events = await allEvents(await call('live:report', {}, EVENTS, who))
  expect(events.at(-1)).toMatchObject({ type: 'result', resultType: 'success' })
})

test.each([
  ['live:gone', 404, 'TOOL_NOT_FOUND'],
  ['ECHO', 400, 'ARGUMENTS_INVALID'],
  ['CLIENT', 409, 'RUNS_AT_CLIENT'],
])('what is refused before it starts is JSON with its status: %s', async (name, status, code) => {
  const answer = await call(name)
  expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toMatchObject([
    status,
    'application/json; charset=utf-8',
    { code },
  ])
})

test('a replayed call that is streamed has only a result', async () => {
  const headers = { ...EVENTS, 'Idempotency-Key': 'streamed' }
  const first = await allEvents(await call('live:report', {}, headers))
  expect(first.map(({ type }) => type)).toEqual(['start', 'log', 'result'])
  const again = await call('live:report', {}, headers)
  expect([again.headers.get('Content-Type'), again.headers.get('Idempotent-Replay')]).toEqual([
    'text/event-stream; charset=utf-8',
    'true',
  ])
  expect((await allEvents(again)).map(({ type }) => type)).toEqual(['result'])
})
