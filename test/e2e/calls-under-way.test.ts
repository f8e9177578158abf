import { expect } from '@jest/globals'
import type { InvocationResult, JsonObject } from '@toolrack/contract'
import { allEvents, eventsOf, type StreamedEvent } from '../support/call-events.ts'
import { tool } from '../support/definition-changes.ts'
import { invoke, invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { isAlive, runnerTreeOf } from '../support/processes.ts'
import { rawConnection } from '../support/raw-http.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { until } from '../support/until.ts'

/** Each test calls tools of its own, by which it finds its calls in the history, in the audit trail and in the terminal. */
const NAMES = ['alone', 'streamed', 'many', 'keyed', 'lost', 'live'] as const
const MODULE = `
import time


def slow(seconds: float, text: str = "begun") -> str:
    """Takes its time."""
    print(text, flush=True)
    time.sleep(seconds)
    return "done"


def report(context: dict):
    "Prints, tells its progress, and gives two values."
    print("begun")
    context.progress(0.5, "half")
    time.sleep(0.1)
    yield {"id": 2**53 + 1, "mean": 1.0}
    print("done")
    yield [1]


def large(count: int):
    "Gives values of nearly 128 KB."
    for _ in range(count):
        yield "x" * (128 * 1024 - 8)


TOOL_SPECS = [{"name": f"held:{name}", "handler": slow} for name in ${JSON.stringify(NAMES)}] + [
    {"name": f"held:{handler.__name__}", "handler": handler} for handler in (report, large)
]
`

const SLOTS = 4
const started = sharedServerWithRunner({ env: { TOOLRACK_RUNNER_SLOTS: String(SLOTS) } })
let uploading: Promise<unknown> | undefined

async function serving(): Promise<Server> {
  const server = await started()
  await (uploading ??= uploaded(server, 'held', MODULE))
  return server
}

type Health = {
  readonly runner: {
    readonly status: string
    readonly calls?: { readonly running: number; readonly waiting: number }
  }
  readonly queues: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** Waits until the state of the service is as the test needs it. */
function untilHealth(server: Server, isSo: (health: Health) => boolean): Promise<Health> {
  return until(async () => (await (await server.fetch('/health')).json()) as Health, isSo)
}

function untilRunning(server: Server, running: number, waiting = 0): Promise<Health> {
  return untilHealth(
    server,
    ({ runner: { calls } }) => calls?.running === running && calls.waiting === waiting,
  )
}

async function items(server: Server, path: string): Promise<readonly JsonObject[]> {
  const answer = await server.fetch(path)
  const { items, records } = (await answer.json()) as Record<'items' | 'records', readonly JsonObject[]>
  return items ?? records
}

/** What the history, the audit trail and the terminal say of the calls of a tool, each in the order of their ends. */
async function told(server: Server, name: string, count: number) {
  const history = await until(
    () => items(server, `/workflows/tools/invocations?tool=${name}`),
    (calls) => calls.length === count,
  )
  const audit = await items(server, `/workflows/audit?tool=${name}`)
  const log = await until(
    () => Promise.resolve(server.log),
    (text) => history.every(({ invocationId }) => text.includes(`  ${invocationId as string}\n`)),
  )
  return {
    history: history.map(({ code }) => code).toSorted(),
    audit: audit
      .filter(({ kind }) => kind === 'call')
      .map(({ outcome }) => outcome)
      .toSorted(),
    terminal: Array.from(
      log.matchAll(new RegExp(`^call  ${name}  (\\S+)`, 'gm')),
      ([, code]) => code,
    ).toSorted(),
  }
}

function everywhere(...codes: readonly (string | null)[]) {
  const said = codes.map((code) => code ?? 'ok')
  return { history: codes, audit: said, terminal: said }
}

/** Sends a call, and disconnects when the state of the service is as the test needs it. */
async function left(
  send: (init: RequestInit) => Promise<Response>,
  when: () => Promise<unknown>,
): Promise<void> {
  const caller = new AbortController()
  const answer = send({ signal: caller.signal }).then((res) => res.text())
  const refused = expect(answer).rejects.toThrow(/abort/)
  await when()
  caller.abort()
  await refused
}

const seconds = 1_000
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
  const server = await serving()
  const answer = await streamed(server, 'held:report')
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
  expect(result).toMatchObject({ resultType: 'success', meta: { tool: 'held:report' } })
  expect(events[0]).toEqual({ type: 'start', invocationId: result.meta.invocationId })
  expect(await logOf(server, result.meta.invocationId)).toMatchObject({ text: 'begun\ndone\n' })
})

withPython('values come whole up to the bound of a result, and beyond it the call fails', async () => {
  const server = await serving()
  const two = await allEvents(await streamed(server, 'held:large', { count: 2 }))
  const values = two.flatMap(({ type, value }) => (type === 'value' ? [String(value).length] : []))
  expect(values).toEqual([131_064, 131_064])
  expect(two.at(-1)).toMatchObject({ type: 'result', resultType: 'success' })
  const many = await allEvents(await streamed(server, 'held:large', { count: 33 }))
  expect(many.at(-1)).toMatchObject({ type: 'result', code: 'RESULT_TOO_LARGE' })
})

withPython('a call whose caller disconnects is CANCELLED in history, audit and terminal', async () => {
  const server = await serving()
  const body = { name: 'held:alone', arguments: { seconds } }
  await left(
    (init) => invoke(server, body, init),
    () => untilRunning(server, 1),
  )
  expect(await told(server, 'held:alone', 1)).toEqual(everywhere('CANCELLED'))
})

withPython('so is a streamed call, whose process is ended and whose output is kept', async () => {
  const server = await serving()
  const caller = new AbortController()
  const args = { seconds, text: 'so far' }
  const answer = await streamed(server, 'held:streamed', args, { signal: caller.signal })
  const before: number[] = []
  await expect(
    (async () => {
      for await (const event of eventsOf(answer)) {
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
  expect(await told(server, 'held:streamed', 1)).toEqual(everywhere('CANCELLED'))
  const [call] = await items(server, '/workflows/tools/invocations?tool=held:streamed')
  expect(await logOf(server, call?.['invocationId'])).toMatchObject({ text: 'so far\n', truncated: false })
})

withPython(
  'so is each call of a dispatch: those that run, that wait for the runner, and that wait here',
  async () => {
    const server = await serving()
    const calls = Array.from({ length: 12 }, (_, index) => {
      const name = index < 11 ? 'held:many' : 'ECHO'
      const args = index < 11 ? { seconds } : { text: 'the last one' }
      return { id: `c${index}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }
    })
    const body = JSON.stringify(calls)
    const before = (await items(server, '/workflows/tools/invocations?tool=ECHO')).length
    await left(
      (init) => server.fetch('/workflows/tools/dispatch', { ...init, method: 'POST', body }),
      () => untilRunning(server, SLOTS, 8 - SLOTS),
    )
    expect(await told(server, 'held:many', 11)).toEqual(
      everywhere(...Array.from({ length: 11 }, () => 'CANCELLED')),
    )
    // A tool of the service that was not begun does not run.
    const echoed = await until(
      () => items(server, '/workflows/tools/invocations?tool=ECHO'),
      (found) => found.length > before,
    )
    expect(echoed[0]).toMatchObject({ code: 'CANCELLED' })
  },
)

withPython('a call that waits for the check of its arguments is CANCELLED', async () => {
  const server = await serving()
  const { function: its, ...rest } = tool('pairs')
  const parameters = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } }
  const definition = {
    ...rest,
    runner: { kind: 'builtin', builtin: 'echo' },
    function: { ...its, parameters },
  }
  const put = { method: 'PUT', body: JSON.stringify(definition) }
  expect((await server.fetch('/workflows/tools/defs/pairs', put)).status).toBe(201)
  const list = Array.from({ length: 1_700 }, (_, a) => ({ a }))
  const body = { name: 'pairs', arguments: { list, text: 'a' } }
  // One check of a user runs at a time. The caller leaves while two others are before theirs.
  const before = [invoke(server, body), invoke(server, body)]
  await untilHealth(server, ({ queues }) => queues['arguments']?.['waiting'] === 1)
  await left(
    (init) => invoke(server, body, init),
    () => untilHealth(server, ({ queues }) => queues['arguments']?.['waiting'] === 2),
  )
  for (const answer of await Promise.all(before)) expect(answer.status).toBe(200)
  expect(await told(server, 'pairs', 3)).toEqual(everywhere('CANCELLED', null, null))
})

withPython('a caller who disconnects within the body is CANCELLED', async () => {
  const server = await serving()
  const socket = await rawConnection(server.url)
  const head = `POST /workflows/tools/invoke HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\nContent-Length: 100\r\n\r\n`
  socket.write(`${head}{"name":"ECHO"`)
  await until(
    () => untilHealth(server, () => true),
    () => socket.bytesWritten > head.length,
  )
  socket.destroy()
  const calls = await until(
    async () => {
      const found = await items(server, '/workflows/tools/invocations?outcome=CANCELLED')
      return found.filter((call) => call['tool'] === null)
    },
    ({ length }) => length > 0,
  )
  expect(calls).toMatchObject([{ tool: null, code: 'CANCELLED' }])
})

withPython(
  'a call with a key goes on without its caller, who meanwhile is told to come again, and then gets the result',
  async () => {
    const server = await serving()
    const body = { name: 'held:keyed', arguments: { seconds: 2 } }
    const headers = { 'Idempotency-Key': 'goes-on' }
    await left(
      (init) => invoke(server, body, { ...init, headers }),
      () => untilRunning(server, 1),
    )
    const early = await invoke(server, body, { headers })
    expect([early.status, early.headers.get('Retry-After')]).toEqual([425, '1'])
    const answer = await until(
      () => invoke(server, body, { headers }),
      ({ status }) => status !== 425,
    )
    expect([answer.status, answer.headers.get('Idempotent-Replay')]).toEqual([200, 'true'])
    const result = (await answer.json()) as InvocationResult
    expect(result).toMatchObject({ textResultForLlm: 'done', meta: { replayed: true } })
    const [call] = (await items(server, '/workflows/tools/invocations?tool=held:keyed')).toReversed()
    expect(call).toMatchObject({ outcome: 'success', code: null })
  },
)

/** Where the runner listens, as the log of its server has it; the last one last. */
function runnerUrls(server: Server): string[] {
  return [...server.log.matchAll(/runner is ready {2}\{"url":"([^"]+)"/g)].map(([, url = '']) => url)
}

withPython(
  'kill -9 of the runner: its calls are lost and not CANCELLED, the lines so far are kept, lists go on, and it is started again',
  async () => {
    const server = await serving()
    const starts = runnerUrls(server).length
    const calling = invoked(server, 'held:lost', { seconds })
    await untilRunning(server, 1)
    const answer = await streamed(server, 'held:live', { seconds, text: 'so far' })
    const events: StreamedEvent[] = []
    const tree: number[] = []
    let listed: Response | undefined
    for await (const event of eventsOf(answer)) {
      events.push(event)
      if (event.type !== 'log') continue
      tree.push(...runnerTreeOf(server.pid))
      process.kill(tree[0] ?? 0, 'SIGKILL')
      listed = await server.fetch('/workflows/tools/list')
    }
    expect(events).toMatchObject([
      { type: 'start' },
      { type: 'log', text: 'so far\n' },
      { type: 'result', code: 'WORKER_DIED', error: expect.stringMatching(/may have run/) },
    ])
    expect(listed?.status).toBe(200)
    expect(await calling).toMatchObject([503, { code: 'WORKER_DIED' }])
    expect(await told(server, 'held:lost', 1)).toEqual(everywhere('WORKER_DIED'))
    expect(await logOf(server, events[0]?.['invocationId'])).toMatchObject({ text: 'so far\n' })
    await until(
      () => Promise.resolve([runnerUrls(server).length, tree.filter(isAlive)] as const),
      ([urls, alive]) => urls === starts + 1 && alive.length === 0,
    )
    const { runner } = await untilHealth(server, ({ runner: { status } }) => status === 'ready')
    expect(runner).toMatchObject({ status: 'ready' })
  },
)
