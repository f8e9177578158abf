import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { RunnerCall, RunnerOutcome } from '../../../../functions/src/catalog/definitions/runner.ts'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import { ANSWER_BYTES_MAX } from '../../../../functions/src/platform/runner/runner-connection.ts'
import { CALL, SUCCESS } from '../../../support/runner-call.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'
import { until } from '../../../support/until.ts'

const SECRET = 'a secret of sixteen'

const refusal = (httpStatus: number, reason: string, headers = {}): RequestListener => {
  const body = { error: { code: httpStatus, status: 'X', message: 'Why not.', details: [{ reason }] } }
  return (_req, res) => res.writeHead(httpStatus, headers).end(JSON.stringify(body))
}

function runnerAt(url: string, graceMs = 10_000): HttpRunner {
  const address = { url, secret: SECRET }
  return new HttpRunner({ endpoint: () => address, patience: { graceMs } })
}

/** What a runner that answers so makes of a call, and how often it was asked. */
async function asked(
  answers: readonly RequestListener[],
  call: Partial<RunnerCall> = {},
  graceMs?: number,
): Promise<{ outcome: RunnerOutcome; times: number }> {
  await using there = await ScriptedServer.start()
  there.answers = [...answers]
  const runner = runnerAt(there.origin, graceMs)
  const outcome = await runner.invoke({ ...CALL, ...call })
  await runner.close()
  return { outcome, times: there.asked.length }
}

async function bodyOf(req: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  for await (const part of req as AsyncIterable<Buffer>) parts.push(part)
  return JSON.parse(Buffer.concat(parts).toString())
}

test('a call goes out with the secret, and comes back with what it returned, cost and printed', async () => {
  const bodies: unknown[] = []
  const keep: RequestListener = (req, res) => {
    void bodyOf(req).then((body) => {
      bodies.push([req.method, req.url, req.headers.authorization, body])
      res.end(JSON.stringify(SUCCESS))
    })
  }
  const { outcome } = await asked([keep], { minIsolation: 'L2', memoryBytes: 1 << 26 })
  const { outcome: _outcome, text, ...facts } = SUCCESS
  expect(outcome).toEqual({ text, ...facts })
  const { source: _source, signal: _signal, minIsolation, resultBytesMax: outputBytes, ...sent } = CALL
  expect(minIsolation).toBeUndefined()
  expect(bodies).toEqual([
    [
      'POST',
      '/invoke',
      `Bearer ${SECRET}`,
      { ...sent, limits: { outputBytes, memoryBytes: 1 << 26, minIsolation: 'L2' } },
    ],
  ])
})

const withValue = (value: unknown) => {
  const { outcome, text: _text, ...facts } = SUCCESS
  return { outcome, value, ...facts }
}

test.each([
  ['a value', withValue({ a: [1] }), { json: '{"a":[1]}' }],
  ['null', withValue(null), { json: 'null' }],
  [
    'a value that looks like the rest of an answer',
    withValue({ a: 1, log: { text: ',"log":{"text":"' }, usage: 1, value: 2, isolation: 'L0' }),
    {
      json: '{"a":1,"log":{"text":",\\"log\\":{\\"text\\":\\""},"usage":1,"value":2,"isolation":"L0"}',
      log: SUCCESS.log,
    },
  ],
  [
    'a value beside a log that looks like the rest of an answer',
    { ...withValue([1]), log: { text: '1,"log":{"text":"', truncated: false } },
    { json: '[1]', log: { text: '1,"log":{"text":"', truncated: false } },
  ],
  [
    'a failure',
    { ...SUCCESS, outcome: 'failure', text: undefined, code: 'TOOL_RAISED', error: 'Trace' },
    { code: 'TOOL_RAISED', error: 'Trace' },
  ],
])('%s is read as what it is', async (_title, answer, expected) => {
  expect((await asked([json(answer)])).outcome).toMatchObject(expected)
})

test('an answer is read with its fields in any order, and with fields that nobody knows', async () => {
  const fields = Object.entries({
    ...withValue({ value: [1], log: 'x' }),
    news: { value: 2, outcome: 'failure' },
  })
  for (let turn = 0; turn < fields.length; turn += 1) {
    const turned = [...fields.slice(turn), ...fields.slice(0, turn)]
    for (const order of [turned, turned.toReversed()])
      expect((await asked([json(Object.fromEntries(order))])).outcome).toMatchObject({
        json: '{"value":[1],"log":"x"}',
        log: SUCCESS.log,
        isolation: 'L2',
      })
  }
})

test('a value is taken as it stands, numbers and all, and never parsed', async () => {
  const rest = JSON.stringify({ ...SUCCESS, outcome: undefined, text: undefined }).slice(1)
  for (const value of ['{"a": 1.0, "a": 9007199254740993}', 'what no parser takes'])
    expect((await asked([text(200, `{"outcome":"success","value":${value},${rest}`)])).outcome).toMatchObject(
      {
        json: value,
      },
    )
})

test.each([
  ['its source', { source: 'TOOL_SPECS = []' }, { source: 'TOOL_SPECS = []' }],
  [
    'all its files by their paths',
    {
      files: [
        { path: '__init__.py', content: 'TOOL_SPECS = []' },
        { path: '__proto__', content: 'data' },
      ],
    },
    { files: JSON.parse('{"__init__.py": "TOOL_SPECS = []", "__proto__": "data"}') as unknown },
  ],
])('a runner without the module is sent %s in the same call', async (_what, module, sent) => {
  const bodies: unknown[] = []
  const keep =
    (answer: RequestListener): RequestListener =>
    (req, res) =>
      void bodyOf(req).then((body) => {
        bodies.push(body)
        answer(req, res)
      })
  const answers = [keep(refusal(404, 'MODULE_UNKNOWN')), keep(json(SUCCESS))]
  const { outcome, times } = await asked(answers, { source: () => Promise.resolve(module) })
  expect(outcome).toMatchObject({ text: 'cloudy' })
  expect(times).toBe(2)
  const [first, second] = bodies
  expect(Object.keys(first as object)).not.toContain(Object.keys(sent)[0])
  expect(second).toEqual({ ...(first as object), ...sent })
})

test('a module whose source is gone is no tool any more', async () => {
  const { outcome, times } = await asked([refusal(404, 'MODULE_UNKNOWN')], {
    source: () => Promise.resolve(undefined),
  })
  expect(outcome).toEqual({
    code: 'TOOL_NOT_FOUND',
    error: 'Unsupported tool: weather:get (its module is gone)',
  })
  expect(times).toBe(1)
})

test('a runner that never keeps a source is not asked for ever', async () => {
  const { outcome, times } = await asked([refusal(404, 'MODULE_UNKNOWN')], {
    source: () => Promise.resolve({ source: 'TOOL_SPECS = []' }),
  })
  expect(outcome).toMatchObject({ code: 'RUNNER_UNAVAILABLE' })
  expect(times).toBe(2)
})

test('a store that can not give the source is an error of the store', async () => {
  const lost = asked([refusal(404, 'MODULE_UNKNOWN')], {
    source: () => Promise.reject(new Error('no store')),
  })
  await expect(lost).rejects.toThrow('no store')
})

const hangUp: RequestListener = (req) => void req.socket.destroy()
const hangUpLater: RequestListener = (req, res) => {
  res.writeHead(200, { 'Content-Length': '1000' })
  res.write('{"outcome":"success"', () => req.socket.destroy())
}
const never: RequestListener = () => undefined
const endless: RequestListener = (_req, res) => {
  const chunk = Buffer.alloc(1024 * 1024, ' ')
  const more = (): unknown => !res.destroyed && res.write(chunk, more)
  more()
}
const text =
  (httpStatus: number, body: string, headers = {}): RequestListener =>
  (_req, res) =>
    res.writeHead(httpStatus, headers).end(body)

const MAY_HAVE_RUN = 'WORKER_DIED'
const NOTHING_RAN = 'RUNNER_UNAVAILABLE'

test.each<[string, RequestListener, string, RegExp]>([
  ['hangs up', hangUp, MAY_HAVE_RUN, /was lost \(ECONNRESET\); the tool may have run/],
  ['hangs up in the middle', hangUpLater, MAY_HAVE_RUN, /may have run/],
  [
    'answers without an end',
    endless,
    MAY_HAVE_RUN,
    new RegExp(`more than ${ANSWER_BYTES_MAX['/invoke']} bytes`),
  ],
  ['answers a page', text(200, '<html>Welcome</html>'), MAY_HAVE_RUN, /not valid/],
  ['answers null', json(null), MAY_HAVE_RUN, /not valid/],
  ['answers no level', json({ ...SUCCESS, isolation: 'L9' }), MAY_HAVE_RUN, /not valid/],
  ['answers no usage', json({ ...SUCCESS, usage: undefined }), MAY_HAVE_RUN, /not valid/],
  [
    'answers two values',
    text(200, `{"value":1,${JSON.stringify(SUCCESS).slice(1, -1)},"val\\u0075e":2}`),
    MAY_HAVE_RUN,
    /not valid/,
  ],
  [
    'answers two levels',
    text(200, `{"isolation":"L4",${JSON.stringify(SUCCESS).slice(1)}`),
    MAY_HAVE_RUN,
    /not valid/,
  ],
  ['answers nothing of the result', json({ ...SUCCESS, text: undefined }), MAY_HAVE_RUN, /not valid/],
  [
    'answers a code of its own',
    json({ ...SUCCESS, outcome: 'failure', code: 'constructor', error: 'x' }),
    MAY_HAVE_RUN,
    /not valid/,
  ],
  ['answers 500', refusal(500, 'INTERNAL'), MAY_HAVE_RUN, /HTTP 500; the tool may have run/],
  ['is cut off by what stands before it', text(502, 'Bad gateway'), MAY_HAVE_RUN, /HTTP 502/],
  ['refuses the secret', refusal(401, 'TOKEN_INVALID'), NOTHING_RAN, /refuses the secret/],
  ['is not let through to', text(403, 'Forbidden'), NOTHING_RAN, /refuses the secret/],
  ['is not at its address', text(404, 'Not found'), NOTHING_RAN, /not at its address/],
  ['does not know the call', refusal(400, 'BODY_INVALID'), NOTHING_RAN, /refuses the call \(BODY_INVALID\)/],
  ['sends us elsewhere', text(307, '', { Location: 'http://203.0.113.1/' }), MAY_HAVE_RUN, /HTTP 307/],
  ['has no process', refusal(503, 'RUNNER_UNAVAILABLE'), NOTHING_RAN, /no process for the call: Why not/],
  [
    'is below the level',
    refusal(503, 'ISOLATION_UNAVAILABLE'),
    'ISOLATION_UNAVAILABLE',
    /Nothing was run: Why not/,
  ],
  ['is full', refusal(429, 'RUNNER_BUSY'), 'RUNNER_BUSY', /^Nothing was run: Why not.*\.$/],
  [
    'has no instance',
    text(429, 'Rate exceeded.'),
    'RUNNER_BUSY',
    /^Nothing was run: The runner has as many calls as it takes\.$/,
  ],
])(
  'of a runner that %s the call is told what is known, and it is asked once',
  async (_title, answer, code, error) => {
    const { outcome, times } = await asked([answer])
    expect(outcome).toMatchObject({ code, error: expect.stringMatching(error) })
    expect(times).toBe(1)
  },
)

test('a runner that never answers is left at the deadline and its grace; the tool may have run', async () => {
  const { outcome, times } = await asked([never], { deadlineMs: 1 }, 50)
  expect(outcome).toMatchObject({ code: MAY_HAVE_RUN, error: expect.stringMatching(/did not answer within/) })
  expect(times).toBe(1)
})

test('when to come again is handed on', async () => {
  const { outcome } = await asked([refusal(429, 'RUNNER_BUSY', { 'Retry-After': '7' })])
  expect(outcome).toMatchObject({ retryAfterSeconds: 7 })
})

test('where nobody listens nothing was run', async () => {
  const there = await ScriptedServer.start()
  const { origin } = there
  await there[Symbol.asyncDispose]()
  expect(await runnerAt(origin).invoke(CALL)).toEqual({
    code: NOTHING_RAN,
    error: 'The runner was lost (ECONNREFUSED); nothing was run.',
  })
})

test('where there is no runner nobody is asked', async () => {
  const runner = new HttpRunner({ endpoint: () => ({ status: 'starting', reason: 'Wait.' }) })
  expect(await runner.invoke(CALL)).toEqual({
    code: NOTHING_RAN,
    error: 'Nothing was run: Wait.',
    retryAfterSeconds: 1,
  })
})

test('when the caller goes, the connection to the runner ends at once', async () => {
  await using there = await ScriptedServer.start()
  const ended: Promise<unknown>[] = []
  const caller = new AbortController()
  there.answers = [
    (req: IncomingMessage, _res: ServerResponse) => {
      ended.push(once(req.socket, 'close'))
      caller.abort()
    },
  ]
  const outcome = await runnerAt(there.origin).invoke({ ...CALL, signal: caller.signal })
  expect(outcome).toEqual({
    code: 'CANCELLED',
    error: 'The caller disconnected before the call had ended, and the tool was stopped; it may have run.',
    mayHaveRun: true,
  })
  expect(ended).toHaveLength(1)
  await ended[0]
})

test('one connection serves call after call, and another is made where it was closed meanwhile', async () => {
  await using there = await ScriptedServer.start()
  there.answers = [json(SUCCESS)]
  const runner = runnerAt(there.origin)
  for (let calls = 0; calls < 3; calls += 1) await runner.invoke(CALL)
  const ports = new Set(there.asked.map(({ socket }) => socket.remotePort))
  expect(ports.size).toBe(1)
  there.asked[0]?.socket.destroy()
  // A call that meets the dead connection is lost, and is not made twice; after that it is known to be dead.
  await until(
    () => runner.invoke(CALL),
    (outcome) => 'text' in outcome,
  )
  expect(there.asked.at(-1)?.socket.remotePort).not.toBe([...ports][0])
  await runner.close()
})
