import { expect, test } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import type { RunnerCall, RunnerEvent } from '../../../../functions/src/catalog/definitions/runner.ts'
import { JsonText } from '../../../../functions/src/json/json-text.ts'
import { ANSWER_BYTES_MAX } from '../../../../functions/src/platform/runner/runner-request.ts'
import { CALL, SUCCESS } from '../../../support/runner-call.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'
import { until } from '../../../support/until.ts'

const NDJSON = { 'Content-Type': 'application/x-ndjson' }

const log = (text: string): string => `${JSON.stringify({ event: 'log', text })}\n`
const value = (text: string): string => `{"event":"value","value":${text}}\n`
const progress = (fraction: number): string =>
  `${JSON.stringify({ event: 'progress', fraction, text: 'on' })}\n`
const LINE_BYTES_MAX = ANSWER_BYTES_MAX['/invoke'] + 64
const OUTCOME = `${JSON.stringify({ event: 'outcome', ...SUCCESS })}\n`

/** A runner that answers with these pieces, one after the other. `null` breaks the connection. */
function pieces(...parts: readonly (string | Buffer | null)[]): RequestListener {
  return (_req, res) => {
    res.writeHead(200, NDJSON)
    const write = ([part, ...rest]: typeof parts): void => {
      if (part === undefined) res.end()
      else if (part === null) res.destroy()
      else res.write(part, () => setImmediate(write, rest))
    }
    write(parts)
  }
}

/** A runner that prints a line and then says nothing. */
const hanging: RequestListener = (_req, res) => void res.writeHead(200, NDJSON).write(log('so far\n'))

/** The outcome and the events of a call to a runner that answers so. */
async function heard(answer: RequestListener, call: Partial<RunnerCall> = {}, graceMs = 10_000) {
  await using there = await ScriptedServer.start()
  there.answers = [answer]
  const endpoint = { url: there.origin, secret: 's' }
  const runner = new HttpRunner({ endpoint: () => endpoint, patience: { graceMs } })
  const events: RunnerEvent[] = []
  const outcome = await runner.invoke({
    ...CALL,
    listen: (event) => {
      events.push(event)
      return undefined
    },
    ...call,
  })
  await runner.close()
  return { outcome, events, asked: there.asked }
}

const { outcome: _outcome, ...RETURNED } = SUCCESS

test('events are heard in their order, values as they were written, and then the outcome', async () => {
  const { outcome, events } = await heard(
    pieces(log('one\n'), progress(0.5), value('{"a": 1.0}'), value('what no parser takes'), OUTCOME),
  )
  expect(outcome).toEqual(RETURNED)
  expect(events).toEqual([
    { type: 'log', text: 'one\n' },
    { type: 'progress', fraction: 0.5, text: 'on' },
    { type: 'value', value: new JsonText('{"a": 1.0}') },
    { type: 'value', value: new JsonText('what no parser takes') },
  ])
})

test('the outcome of a stream has images of several megabytes, whose bytes arrive in pieces', async () => {
  const bytes = Buffer.alloc(8 * 1024 * 1024, 'abc')
  const content = [{ type: 'image', mimeType: 'image/png', name: 'a.png', data: bytes.toString('base64') }]
  const line = Buffer.from(`${JSON.stringify({ event: 'outcome', ...SUCCESS, content })}\n`)
  const { outcome } = await heard(pieces(log('one\n'), line.subarray(0, 5_000_000), line.subarray(5_000_000)))
  expect(outcome).toMatchObject({ text: 'cloudy' })
  const [made, ...others] = ('made' in outcome && outcome.made) || []
  expect(others).toEqual([])
  expect(made && bytes.equals(made.bytes)).toBe(true)
})

test('an event is read with its fields in any order', async () => {
  const { outcome: ended, text: _text, ...facts } = SUCCESS
  const { outcome, events } = await heard(
    pieces(
      '{"text":"one","event":"log"}\n',
      '{ "value" : {"event":"log","value":2} , "more": 1, "event" : "value" }\n',
      `${JSON.stringify({ ...facts, value: { event: 'value' }, outcome: ended, event: 'outcome' })}\n`,
    ),
  )
  expect(events).toEqual([
    { type: 'log', text: 'one' },
    { type: 'value', value: new JsonText('{"event":"log","value":2}') },
  ])
  expect(outcome).toMatchObject({ json: '{"event":"value"}' })
})

test('an outcome with a value is read as in an answer without events', async () => {
  const { outcome: ended, text: _text, ...facts } = SUCCESS
  const line = `${JSON.stringify({ event: 'outcome', outcome: ended, value: { a: [1] }, ...facts })}\n`
  expect((await heard(pieces(log('a'), line))).outcome).toMatchObject({ json: '{"a":[1]}' })
})

test('lines are read whole, wherever they are cut', async () => {
  const bytes = Buffer.from(log('é\u{1F600}\n') + value('["ü"]') + OUTCOME)
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const cut = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    )
    const { outcome, events } = await heard(pieces(...cut))
    expect(outcome).toEqual(RETURNED)
    expect(events).toEqual([
      { type: 'log', text: 'é\u{1F600}\n' },
      { type: 'value', value: new JsonText('["ü"]') },
    ])
  }
})

const invalid = (fault: string) =>
  `The runner sent an answer that is not valid (${fault}); the tool may have run. Look before you repeat the call.`

test.each([
  ['half a line', [log('a'), OUTCOME.slice(0, 40)], invalid('it ends in the middle of a line')],
  ['no outcome', [log('a')], invalid('it has no outcome')],
  ['nothing', [], invalid('it has no outcome')],
  ['two outcomes', [log('a'), OUTCOME + OUTCOME], invalid('a line follows the outcome')],
  ['garbage', [log('a'), 'Bad gateway\n'], invalid('line 2 is no event')],
  ['an unknown event', [log('a'), '{"event":"tick","text":""}\n'], invalid('line 2 is no event')],
  ['an empty line', [log('a'), '\n'], invalid('line 2 is no event')],
  ['an event without its value', [log('a'), '{"event":"value"}\n'], invalid('line 2 is no event')],
  [
    'an event of two kinds',
    [log('a'), '{"event":"value","value":1,"event":"log"}\n'],
    invalid('line 2 is no event'),
  ],
  ['no UTF-8', [log('a'), Buffer.from([0x22, 0xff, 0x22, 0x0a])], invalid('line 2 is not UTF-8')],
  [
    'a huge line',
    [log('a'), 'x'.repeat(LINE_BYTES_MAX + 1)],
    invalid(`a line has more than ${LINE_BYTES_MAX} bytes`),
  ],
  [
    'lines without end',
    [log('a'), ...Array.from({ length: 10 }, () => value(`"${'x'.repeat(2_000_000)}"`))],
    invalid('its events have more than 16777216 bytes'),
  ],
  [
    'a broken connection',
    [log('a'), null],
    'The runner was lost (ECONNRESET); the tool may have run. Look before you repeat the call.',
  ],
  [
    'an outcome that is none',
    [log('a'), '{"event":"outcome","outcome":"success"}\n'],
    'The runner sent an answer that is not valid; the tool may have run. Look before you repeat the call.',
  ],
])('%s makes the call a lost one, and keeps its lines', async (title, parts, error) => {
  const { outcome } = await heard(pieces(...parts))
  const printed = title === 'nothing' ? undefined : { text: 'a', truncated: false }
  expect(outcome).toEqual({ code: 'WORKER_DIED', error, ...(printed && { log: printed }) })
})

test('what a lost call has printed is kept up to the bound of a log', async () => {
  const { outcome } = await heard(pieces(...Array.from({ length: 70 }, () => log('x'.repeat(1_024)))))
  expect(outcome.log).toEqual({ text: 'x'.repeat(65_536), truncated: true })
})

test('the lines of a call whose caller goes are kept', async () => {
  const caller = new AbortController()
  const { outcome } = await heard(hanging, {
    signal: caller.signal,
    listen: () => {
      caller.abort()
      return undefined
    },
  })
  expect(outcome).toMatchObject({
    code: 'CANCELLED',
    mayHaveRun: true,
    log: { text: 'so far\n', truncated: false },
  })
})

test('events are always accepted; values are asked for only if somebody listens', async () => {
  const bodies: unknown[] = []
  const keep: RequestListener = (req, res) => {
    let body = ''
    req.on('data', (part: Buffer) => (body += part.toString()))
    req.on('end', () => {
      bodies.push([req.headers.accept, (JSON.parse(body) as { stream?: true }).stream])
      json(SUCCESS)(req, res)
    })
  }
  expect((await heard(keep)).outcome).toEqual(RETURNED)
  expect((await heard(keep, { listen: undefined })).outcome).toEqual(RETURNED)
  expect(bodies).toEqual([
    ['application/x-ndjson', true],
    ['application/x-ndjson', undefined],
  ])
})

test('while the listener waits, the runner is not read, and then everything comes', async () => {
  const lines = 200
  let written = 0
  const flood: RequestListener = (_req, res) => {
    res.writeHead(200, NDJSON)
    const more = (): void => {
      for (; written < lines;) {
        written += 1
        if (!res.write(value(`"${'x'.repeat(64 * 1_024)}"`))) return void res.once('drain', more)
      }
      res.end(OUTCOME)
    }
    more()
  }
  const reading = Promise.withResolvers<void>()
  let count = 0
  const call = heard(flood, {
    listen: () => {
      count += 1
      return reading.promise
    },
  })
  // The connection is full when the runner has written nothing between two looks.
  let before = -1
  await until(
    () => Promise.resolve(written),
    (now) => {
      const isFull = now > 1 && now === before
      before = now
      return isFull
    },
  )
  expect(count).toBeLessThan(lines)
  expect(written).toBeLessThan(lines)
  reading.resolve()
  expect((await call).outcome).toMatchObject({ text: SUCCESS.text })
  expect(count).toBe(lines)
})

test('what a call has sent before its deadline reaches a reader who needs longer than the deadline', async () => {
  // The deadline passes while the listener waits, and the outcome has not been read by then.
  const { outcome } = await heard(
    pieces(value('1'), OUTCOME),
    { deadlineMs: 1, listen: () => new Promise((resolve) => setTimeout(resolve, 1_500)) },
    1_000,
  )
  expect(outcome).toEqual(RETURNED)
})
