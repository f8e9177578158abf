import { expect, test } from '@jest/globals'
import type { InvocationResult, JsonObject } from '@toolrack/contract'
import { tool } from '../support/definition-changes.ts'
import { invoke, invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { runnerTreeOf } from '../support/processes.ts'
import { rawConnection } from '../support/raw-http.ts'
import { withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'

/** Each test calls tools of its own, by which it finds its calls in the history, in the audit trail and in the terminal. */
const NAMES = ['alone', 'streamed', 'many', 'first', 'queued', 'keyed', 'lost'] as const
const MODULE = `
import time


def slow(seconds: float) -> str:
    """Takes its time."""
    print("begun", flush=True)
    time.sleep(seconds)
    return "done"


TOOL_SPECS = [{"name": f"held:{name}", "handler": slow} for name in ${JSON.stringify(NAMES)}]
`

const SLOTS = 4
const started = sharedServerWithRunner({ env: { TOOLRACK_RUNNER_SLOTS: String(SLOTS) } })

async function serving(): Promise<Server> {
  const server = await started()
  await uploaded(server, 'held', MODULE)
  return server
}

type Health = {
  readonly runner: { readonly calls?: { readonly running: number; readonly waiting: number } }
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

withPython('a call whose caller disconnects is CANCELLED in history, audit and terminal', async () => {
  const server = await serving()
  const body = { name: 'held:alone', arguments: { seconds } }
  await left(
    (init) => invoke(server, body, init),
    () => untilRunning(server, 1),
  )
  expect(await told(server, 'held:alone', 1)).toEqual(everywhere('CANCELLED'))
})

withPython('so is a streamed call, whose output is kept', async () => {
  const server = await serving()
  const headers = { Accept: 'text/event-stream' }
  const caller = new AbortController()
  const body = { name: 'held:streamed', arguments: { seconds } }
  const answer = await invoke(server, body, { headers, signal: caller.signal })
  const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('begun')) text += (await reader.read()).value ?? ''
  caller.abort()
  await expect(reader.read()).rejects.toThrow(/abort/)
  expect(await told(server, 'held:streamed', 1)).toEqual(everywhere('CANCELLED'))
  const [call] = await items(server, '/workflows/tools/invocations?tool=held:streamed')
  const log = await server.fetch(`/workflows/tools/invocations/${call?.['invocationId'] as string}/log`)
  expect(await log.json()).toMatchObject({ text: 'begun\n' })
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

withPython('a call that waits for the runner is CANCELLED, and the one before it goes on', async () => {
  const server = await serving()
  const first = Array.from({ length: SLOTS }, () => invoked(server, 'held:first', { seconds: 3 }))
  await untilRunning(server, SLOTS)
  await left(
    (init) => invoke(server, { name: 'held:queued', arguments: { seconds } }, init),
    () => untilRunning(server, SLOTS, 1),
  )
  for (const one of first) expect(await one).toMatchObject([200, { textResultForLlm: 'done' }])
  expect(await told(server, 'held:queued', 1)).toEqual(everywhere('CANCELLED'))
  expect(await told(server, 'held:first', SLOTS)).toEqual(everywhere(...first.map(() => null)))
})

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
  const before = invoke(server, body)
  await left(
    (init) => invoke(server, body, init),
    () => untilHealth(server, ({ queues }) => queues['arguments']?.['waiting'] === 1),
  )
  expect((await before).status).toBe(200)
  expect(await told(server, 'pairs', 2)).toEqual(everywhere('CANCELLED', null))
})

test('a caller who disconnects within the body is CANCELLED', async () => {
  await using server = await Server.start()
  const socket = await rawConnection(server.url)
  const head = `POST /workflows/tools/invoke HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\nContent-Length: 100\r\n\r\n`
  socket.write(`${head}{"name":"ECHO"`)
  await until(
    () => untilHealth(server, () => true),
    () => socket.bytesWritten > head.length,
  )
  socket.destroy()
  const calls = await until(
    () => items(server, '/workflows/tools/invocations'),
    (found) => found.length === 1,
  )
  expect(calls).toMatchObject([{ tool: null, code: 'CANCELLED' }])
})

withPython('a call with a key goes on when its caller disconnects', async () => {
  const server = await serving()
  const body = { name: 'held:keyed', arguments: { seconds: 2 } }
  const headers = { 'Idempotency-Key': 'goes-on' }
  await left(
    (init) => invoke(server, body, { ...init, headers }),
    () => untilRunning(server, 1),
  )
  const answer = await until(
    () => invoke(server, body, { headers }),
    ({ status }) => status !== 425,
  )
  const result = (await answer.json()) as InvocationResult
  expect(result).toMatchObject({ textResultForLlm: 'done', meta: { replayed: true } })
  const [call] = (await items(server, '/workflows/tools/invocations?tool=held:keyed')).toReversed()
  expect(call).toMatchObject({ outcome: 'success', code: null })
})

withPython(
  'a runner that dies while the caller is there loses its call, which is not CANCELLED',
  async () => {
    const server = await serving()
    const calling = invoked(server, 'held:lost', { seconds })
    await untilRunning(server, 1)
    process.kill(runnerTreeOf(server.pid)[0] ?? 0, 'SIGKILL')
    expect(await calling).toMatchObject([503, { code: 'WORKER_DIED' }])
    expect(await told(server, 'held:lost', 1)).toEqual(everywhere('WORKER_DIED'))
  },
)
