import { expect, test } from '@jest/globals'
import { createHash } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { ModuleCheck, RunnerCall } from '../../../../functions/src/catalog/definitions/runner.ts'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import { lockOf } from '../../../support/module-changes.ts'
import { CALL, SUCCESS } from '../../../support/runner-call.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'

const SOURCE = Buffer.from('TOOL_SPECS = []\n')
const LOCK = lockOf('1.0')
const REPORT = {
  faults: [],
  notes: [],
  imports: [],
  missingImports: [],
  tools: [],
  sha256: createHash('sha256').update(SOURCE).digest('hex'),
  log: { text: '' },
  packages: LOCK,
}

async function bodyOf(req: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  for await (const part of req as AsyncIterable<Buffer>) parts.push(part)
  return JSON.parse(Buffer.concat(parts).toString())
}

/** A runner with these answers, and the bodies that it got. */
async function runnerWith(answers: readonly RequestListener[], checkMs = 20_000) {
  const there = await ScriptedServer.start()
  const bodies: unknown[] = []
  there.answers = answers.map(
    (answer): RequestListener =>
      (req, res) =>
        void bodyOf(req).then((body) => {
          bodies.push(body)
          answer(req, res)
        }),
  )
  const runner = new HttpRunner({ endpoint: () => ({ url: there.origin }), patience: { checkMs } })
  return {
    runner,
    bodies,
    asked: there.asked,
    async [Symbol.asyncDispose]() {
      await runner.close()
      await there[Symbol.asyncDispose]()
    },
  }
}

const EVENTS = { 'Content-Type': 'application/x-ndjson' }
const textOf = (...events: readonly object[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('')
const lines =
  (...events: readonly object[]): RequestListener =>
  (_req, res) =>
    res.writeHead(200, EVENTS).end(textOf(...events))

async function checked(answer: RequestListener, check: Partial<ModuleCheck> = {}, checkMs?: number) {
  await using there = await runnerWith([answer], checkMs)
  const texts: string[] = []
  const module = { name: 'm', source: SOURCE, onProgress: (text: string) => texts.push(text) }
  const outcome = await there.runner
    .check({ ...module, ...(check as object) })
    .catch((error: unknown) => error)
  return { outcome, texts, bodies: there.bodies, accept: there.asked[0]?.headers.accept }
}

const progress = (text: string) => ({ event: 'progress', text })

test('a check sends the lock, and tells what the runner is doing until the report', async () => {
  const answer = lines(progress('Resolving.'), progress('Installing 2 of 3.'), { event: 'report', ...REPORT })
  const { outcome, texts, bodies, accept } = await checked(answer, { lock: LOCK })
  expect(outcome).toEqual(REPORT)
  expect(texts).toEqual(['Resolving.', 'Installing 2 of 3.'])
  expect(bodies).toEqual([{ name: 'm', source: SOURCE.toString(), lock: LOCK }])
  expect(accept).toBe('application/x-ndjson')
})

test('without a listener the runner is asked for one answer; a runner without events can answer so too', async () => {
  const silent = await checked(json(REPORT), { onProgress: undefined })
  expect([silent.outcome, silent.accept]).toEqual([REPORT, undefined])
  expect((await checked(json(REPORT))).outcome).toEqual(REPORT)
})

test('a check that reports its progress may take longer than one that does not', async () => {
  const working: RequestListener = (_req, res) => {
    res.writeHead(200, EVENTS)
    let left = 8
    const timer = setInterval(() => {
      left -= 1
      if (left > 0) return void res.write(textOf(progress(`${left} left.`)))
      clearInterval(timer)
      return res.end(textOf({ event: 'report', ...REPORT }))
    }, 250)
  }
  expect((await checked(working, {}, 1_000)).outcome).toEqual(REPORT)
})

const silent: RequestListener = (_req, res) =>
  void res.writeHead(200, EVENTS).write(textOf(progress('Begun.')))

test('a runner that falls silent after some progress is unavailable', async () => {
  const { outcome, texts } = await checked(silent, {}, 300)
  expect(outcome).toMatchObject({
    code: 'RUNNER_UNAVAILABLE',
    message: 'The runner sent nothing for 300 ms; nothing was written.',
  })
  expect(texts).toEqual(['Begun.'])
})

const refused = (code: string, status: number) => ({
  error: { code: status, status: 'X', message: 'the index is away', details: [{ reason: code }] },
})
const [away, no] = [refused('PACKAGES_UNAVAILABLE', 503), refused('PACKAGES_REFUSED', 422)]
const last = (code: string, status: number, message = 'the index is away') =>
  lines(progress('Resolving.'), { event: 'error', code, status, message })

test.each([
  ['PACKAGES_UNAVAILABLE', 'The index is away. Nothing was written.', json(away, 503)],
  ['PACKAGES_UNAVAILABLE', 'The index is away. Nothing was written.', last('PACKAGES_UNAVAILABLE', 503)],
  ['PACKAGES_REFUSED', 'The index is away.', json(no, 422)],
  ['PACKAGES_REFUSED', 'The index is away.', last('PACKAGES_REFUSED', 422)],
  [
    'RUNNER_BUSY',
    'Nothing was written: All slots are taken.',
    last('RUNNER_BUSY', 429, 'All slots are taken'),
  ],
  ['RUNNER_UNAVAILABLE', 'The runner answers with HTTP 500; nothing was written.', last('NO_SUCH', 500)],
])('%s is told with the words of the runner, also as the last line: %s', async (code, message, answer) => {
  const { outcome } = await checked(answer)
  expect(outcome).toMatchObject({ code, message })
  if (code === 'PACKAGES_REFUSED')
    expect(outcome).toMatchObject({ details: [{ reason: code, kind: 'packages_refused', message }] })
})

test.each([
  ['no report', textOf(progress('One.'))],
  ['half a line', `${textOf(progress('One.'))}{"event":`],
  ['a line that is no event', textOf({ event: 'value', text: 'x' })],
  ['a line that is no JSON', 'Hello!\n'],
  ['a line after the report', textOf({ event: 'report', ...REPORT }, progress('One.'))],
  ['a report on another source', textOf({ event: 'report', ...REPORT, sha256: '0'.repeat(64) })],
  ['a line without an end', 'x'.repeat(4 * 1024 * 1024 + 1)],
])('an answer with %s is not taken', async (_what, text) => {
  const { outcome } = await checked((_req, res) => res.writeHead(200, EVENTS).end(text))
  expect(outcome).toMatchObject({ code: 'RUNNER_UNAVAILABLE' })
})

test('a sentence about the progress is cut, because it becomes a line of a terminal', async () => {
  const { texts } = await checked(lines(progress('x'.repeat(10_000)), { event: 'report', ...REPORT }))
  expect(texts).toEqual(['x'.repeat(500)])
})

async function called(answers: readonly RequestListener[], call: Partial<RunnerCall>) {
  await using there = await runnerWith(answers)
  return { outcome: await there.runner.invoke({ ...CALL, ...call }), bodies: there.bodies }
}

const unknown = json(refused('MODULE_UNKNOWN', 404), 404)

test('a call names the environment, and brings source and lock when the runner has neither', async () => {
  const { outcome, bodies } = await called([unknown, json(SUCCESS)], {
    environment: LOCK.digest,
    source: () => Promise.resolve({ source: 'text', lock: LOCK }),
  })
  expect(outcome).toMatchObject({ text: 'cloudy' })
  expect(bodies).toMatchObject([
    { environment: LOCK.digest },
    { environment: LOCK.digest, source: 'text', lock: LOCK },
  ])
  expect(bodies[0]).not.toHaveProperty('lock')
})

const withoutLock = () => Promise.resolve({ source: 'text' })

test('a call whose lock is not kept any more says what to do, and is not sent again', async () => {
  const { outcome, bodies } = await called([unknown], { environment: LOCK.digest, source: withoutLock })
  expect(outcome).toMatchObject({
    code: 'PACKAGES_UNAVAILABLE',
    error: expect.stringContaining('Upload the module'),
  })
  expect(bodies).toHaveLength(1)
})

test.each([
  ['PACKAGES_UNAVAILABLE', json(away, 503, { 'Retry-After': '9' }), { retryAfterSeconds: 9 }],
  ['PACKAGES_REFUSED', json(no, 422), {}],
])('a call that gets no environment ends with %s and the words of the runner', async (code, answer, more) => {
  const { outcome } = await called([answer], { environment: LOCK.digest })
  expect(outcome).toEqual({ code, error: 'The index is away.', ...more })
})
