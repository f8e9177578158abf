import { expect, test } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { allEvents, eventsOf, type StreamedEvent } from '../support/call-events.ts'
import { invoke, invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { isAlive, runnerTreeOf } from '../support/processes.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { until } from '../support/until.ts'

const LIVE = `
import time


def report(context: dict):
    "Prints, tells its progress, and gives two values."
    print("begun")
    context.progress(0.5, "half")
    time.sleep(0.1)
    yield {"id": 2**53 + 1, "mean": 1.0}
    print("done")
    yield [1]


def wait(text: str) -> str:
    "Prints a line, then waits."
    print(text)
    time.sleep(1000)
    return "too late"


def late() -> str:
    "Prints a line, then waits for longer than it may."
    print("begun")
    time.sleep(1000)
    return "too late"


def large(count: int):
    "Gives values of nearly 128 KB."
    for _ in range(count):
        yield "x" * (128 * 1024 - 8)


TOOL_SPECS = [
    {"name": f"live:{handler.__name__}", "handler": handler} for handler in (report, wait, large)
] + [{"name": "live:late", "handler": late, "timeoutSeconds": 3}]
`

const start = sharedServerWithRunner()
let uploading: Promise<unknown> | undefined

async function withLive(): Promise<Server> {
  const server = await start()
  await (uploading ??= uploaded(server, 'live', LIVE))
  return server
}

const EVENTS = { Accept: 'text/event-stream' }

/** The answer to a call whose caller wants events. */
function streamed(
  server: Server,
  name: string,
  args: object = {},
  init: RequestInit = {},
): Promise<Response> {
  return invoke(server, { name, arguments: args }, { headers: EVENTS, ...init })
}

async function logOf(server: Server, invocationId: unknown): Promise<unknown> {
  return until(
    async () => (await server.fetch(`/workflows/tools/invocations/${String(invocationId)}/log`)).json(),
    (body) => (body as { error?: unknown }).error === undefined,
  )
}

withPython('the events of a Python tool come in their order, and the last is its result', async () => {
  const answer = await streamed(await withLive(), 'live:report')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ])
  const text = await answer.clone().text()
  // The numbers are those that Python wrote.
  expect(text).toContain('data: {"value":{"id":9007199254740993,"mean":1.0}}\n')
  const events = await allEvents(answer)
  const types = events.map(({ type }) => type)
  expect([types[0], types.at(-1)]).toEqual(['start', 'result'])
  expect(events).toContainEqual({ type: 'progress', fraction: 0.5, text: 'half' })
  const printed = events.flatMap((event) => (event.type === 'log' ? [event['text']] : []))
  expect(printed.join('')).toBe('begun\ndone\n')
  expect(types.indexOf('log')).toBeLessThan(types.indexOf('value'))
  expect(events.filter(({ type }) => type === 'value').length).toBe(2)
  const result = events.at(-1) as unknown as InvocationResult
  expect(result).toMatchObject({ resultType: 'success', meta: { tool: 'live:report' } })
  expect(events[0]).toEqual({ type: 'start', invocationId: result.meta.invocationId })
  expect(await logOf(await withLive(), result.meta.invocationId)).toMatchObject({ text: 'begun\ndone\n' })
})

withPython('without the header the same call is plain JSON with the same result', async () => {
  const server = await withLive()
  const [status, plain] = await invoked(server, 'live:report')
  const events = await allEvents(await streamed(server, 'live:report'))
  const { meta: _meta, ...result } = plain
  expect(status).toBe(200)
  expect(events.at(-1)).toMatchObject({ ...result })
})

withPython('a caller who goes in the middle of a stream ends the call, and its lines are kept', async () => {
  const server = await withLive()
  const caller = new AbortController()
  const answer = await streamed(server, 'live:wait', { text: 'so far' }, { signal: caller.signal })
  let first: StreamedEvent | undefined
  const before: number[] = []
  await expect(
    (async () => {
      for await (const event of eventsOf(answer)) {
        first ??= event
        if (event.type !== 'log') continue
        before.push(...runnerTreeOf(server.pid))
        caller.abort()
      }
    })(),
  ).rejects.toThrow(/abort/)
  await until(
    () => Promise.resolve(before.filter((pid) => !isAlive(pid))),
    (ended) => ended.length > 0,
  )
  expect(await logOf(server, first?.['invocationId'])).toMatchObject({ text: 'so far\n', truncated: false })
})

withPython('two streams at once have their own events each', async () => {
  const server = await withLive()
  const caller = new AbortController()
  const heard = async (text: string): Promise<unknown> => {
    const answer = await streamed(server, 'live:wait', { text }, { signal: caller.signal })
    for await (const event of eventsOf(answer)) if (event.type === 'log') return event['text']
    return 'nothing'
  }
  expect(await Promise.all([heard('one'), heard('two')])).toEqual(['one\n', 'two\n'])
  caller.abort()
})

withPython('a deadline in a stream is its result, after the lines until then', async () => {
  const events = await allEvents(await streamed(await withLive(), 'live:late'))
  expect(events).toMatchObject([
    { type: 'start' },
    { type: 'log', text: 'begun\n' },
    { type: 'result', resultType: 'failure', code: 'DEADLINE_EXCEEDED' },
  ])
})

withPython('values come whole up to the bound of a result, and beyond it the call fails', async () => {
  const server = await withLive()
  const two = await allEvents(await streamed(server, 'live:large', { count: 2 }))
  const values = two.flatMap(({ type, value }) => (type === 'value' ? [String(value).length] : []))
  expect(values).toEqual([131_064, 131_064])
  expect(two.at(-1)).toMatchObject({ type: 'result', resultType: 'success' })
  const three = await allEvents(await streamed(server, 'live:large', { count: 3 }))
  expect(three.at(-1)).toMatchObject({ type: 'result', code: 'RESULT_TOO_LARGE' })
})

withPython('a job streams too', async () => {
  const server = await withLive()
  const answer = await streamed(server, 'live:report', {}, { family: 'jobs' } as RequestInit)
  expect((await allEvents(answer)).at(-1)).toMatchObject({ type: 'result', resultType: 'success' })
})

withPython('what is refused before it starts is JSON with its status', async () => {
  const server = await withLive()
  const rows: [string, object, number, string][] = [
    ['live:gone', {}, 404, 'TOOL_NOT_FOUND'],
    ['live:wait', {}, 400, 'ARGUMENTS_INVALID'],
    ['READ_FILE', {}, 409, 'RUNS_AT_CLIENT'],
  ]
  for (const [name, args, status, code] of rows) {
    const answer = await streamed(server, name, args)
    expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toMatchObject([
      status,
      'application/json; charset=utf-8',
      { code },
    ])
  }
})

test('a built-in tool has a start and a result', async () => {
  const server = await start()
  const events = await allEvents(await streamed(server, 'ECHO', { text: 'a' }))
  expect(events).toMatchObject([
    { type: 'start' },
    { type: 'result', resultType: 'success', textResultForLlm: 'a' },
  ])
})

withPython(
  'kill -9 of the runner in a stream: the lines so far are kept, and the result says so',
  async () => {
    const server = await withLive()
    const answer = await streamed(server, 'live:wait', { text: 'so far' })
    const events: StreamedEvent[] = []
    for await (const event of eventsOf(answer)) {
      events.push(event)
      if (event.type === 'log') process.kill(runnerTreeOf(server.pid)[0] ?? 0, 'SIGKILL')
    }
    expect(events).toMatchObject([
      { type: 'start' },
      { type: 'log', text: 'so far\n' },
      { type: 'result', code: 'WORKER_DIED', error: expect.stringMatching(/may have run/) },
    ])
    expect(await logOf(server, events[0]?.['invocationId'])).toMatchObject({ text: 'so far\n' })
  },
)
