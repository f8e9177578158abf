import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { RunnerCall, RunnerOutcome } from '../../../../functions/src/catalog/definitions/runner.ts'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import { ANSWER_BYTES_MAX } from '../../../../functions/src/platform/runner/runner-request.ts'
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

const { outcome: _succeeded, text: _cloudy, ...FACTS } = SUCCESS

const withValue = (value: unknown) => {
  const { outcome, text: _text, ...facts } = SUCCESS
  return { outcome, value, ...facts }
}

const PART = { type: 'file', mimeType: 'text/csv', name: 'a.csv', data: 'YSxi' }
const MADE = { type: 'file', mimeType: 'text/csv', name: 'a.csv', bytes: Buffer.from('a,b') }
const MOST = 'A'.repeat((8 * 1024 * 1024 * 4) / 3 - 2)

test.each([
  ['no content', undefined, undefined],
  ['an empty list', [], undefined],
  ['a file', [PART], [MADE]],
  ['a file without bytes', [{ ...PART, data: '' }], [{ ...MADE, bytes: Buffer.alloc(0) }]],
  [
    'an image and a file',
    [{ ...PART, type: 'image', mimeType: 'image/svg+xml' }, PART],
    [{ ...MADE, type: 'image', mimeType: 'image/svg+xml' }, MADE],
  ],
])('an answer with %s', async (_title, content, made) => {
  const { outcome } = await asked([json({ ...SUCCESS, content })])
  expect(outcome).toEqual({ text: 'cloudy', ...FACTS, ...(made && { made }) })
  const { outcome: other } = await asked([json({ ...withValue({ content: 1 }), content })])
  expect(other).toEqual({ json: '{"content":1}', ...FACTS, ...(made && { made }) })
})

test.each([
  ['content that is no list', { 0: PART }],
  ['null', null],
  ['too many parts', Array.from({ length: 17 }, () => PART)],
  ['too many bytes', [{ ...PART, data: MOST }, PART]],
  ['a text', ['YSxi']],
  ['another type', [{ ...PART, type: 'audio' }]],
  ['an image that is a page', [{ ...PART, type: 'image', mimeType: 'text/html' }]],
  ['no media type', [{ ...PART, mimeType: 'csv' }]],
  ['a header in the media type', [{ ...PART, mimeType: 'text/csv\r\nX: y' }]],
  ['a number as media type', [{ ...PART, mimeType: 1 }]],
  ['no name', [{ ...PART, name: '' }]],
  ['a long name', [{ ...PART, name: 'x'.repeat(511) }]],
  ['a line break in the name', [{ ...PART, name: 'a\nb' }]],
  ['no data', [{ ...PART, data: undefined }]],
  ['data that is no base64', [{ ...PART, data: 'YS,i' }]],
  ['data that ends too early', [{ ...PART, data: 'YSx' }]],
  ['padding in the middle', [{ ...PART, data: 'YQ==YSxi' }]],
])('an answer with %s is not valid', async (_title, content) => {
  const { outcome } = await asked([json({ ...SUCCESS, content })])
  expect(outcome).toMatchObject({ code: 'WORKER_DIED', error: expect.stringMatching(/not valid/) })
})

test.each([
  ['twice', `"content":[],"content":[]`],
  ['twice, once with an escape', `"content":[],"cont\\u0065nt":[]`],
  ['in half', `"content":[{]`],
])('an answer with content %s is not valid', async (_title, content) => {
  const { outcome } = await asked([text(200, `{${content},${JSON.stringify(SUCCESS).slice(1)}`)])
  expect(outcome).toMatchObject({ code: 'WORKER_DIED', error: expect.stringMatching(/not valid/) })
})

test('content whose name has an escape is content', async () => {
  const { outcome } = await asked([
    text(200, `{"cont\\u0065nt":${JSON.stringify([PART])},${JSON.stringify(SUCCESS).slice(1)}`),
  ])
  expect(outcome).toEqual({ text: 'cloudy', ...FACTS, made: [MADE] })
})

test('a text that looks like content is none', async () => {
  const printed = `"content":[${JSON.stringify(PART)}]`
  const { outcome } = await asked([
    json({ ...withValue({ printed }), log: { text: printed, truncated: false } }),
  ])
  expect(outcome).toEqual({
    ...FACTS,
    json: JSON.stringify({ printed }),
    log: { text: printed, truncated: false },
  })
})

test('a failure has no content', async () => {
  const failure = { ...SUCCESS, outcome: 'failure', code: 'TOOL_RAISED', error: 'No.', content: [PART] }
  const { outcome } = await asked([json(failure)])
  expect(outcome).toEqual({ code: 'TOOL_RAISED', error: 'No.', ...FACTS })
})

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

test('the kind of an exception is read only where a tool has raised one, and only if it is known', async () => {
  const { outcome: _outcome, text: _text, ...facts } = SUCCESS
  const answered = async (code: string, kind: unknown) => {
    const body = { outcome: 'failure', code, error: 'No.', kind, ...facts }
    return (await asked([(_req, res) => res.end(JSON.stringify(body))])).outcome
  }
  expect(await answered('TOOL_RAISED', 'network')).toMatchObject({ code: 'TOOL_RAISED', kind: 'network' })
  for (const kind of ['generic', 'other', 1, null, ['network']])
    expect(await answered('TOOL_RAISED', kind)).not.toHaveProperty('kind')
  expect(await answered('MEMORY_LIMIT', 'network')).not.toHaveProperty('kind')
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
