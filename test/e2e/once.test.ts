import { expect } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { invoke } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { until } from '../support/until.ts'

const MODULE = `
import time
import uuid


def stamp(text: str = "", seconds: float = 0) -> str:
    """Gives a text that no other run gives."""
    time.sleep(seconds)
    print("ran", text)
    return f"{text} {uuid.uuid4()}"


TOOL_SPECS = [{"name": "once:stamp", "handler": stamp}]
`

const started = sharedServerWithRunner()
async function serving(): Promise<Server> {
  const server = await started()
  await uploaded(server, 'once', MODULE)
  return server
}

let count = 0
const newKey = (): string => `e2e ~ ${(count += 1)}`

/** Calls the tool with a key: the status, the header, and the result. */
async function keyed(
  server: Server,
  key: string,
  args: object = {},
  init: RequestInit & { family?: string } = {},
) {
  const headers = { ...(init.headers as Record<string, string>), 'Idempotency-Key': key }
  const answer = await invoke(server, { name: 'once:stamp', arguments: args }, { ...init, headers })
  const { status } = answer
  const text = await answer.text()
  return { status, text, replay: answer.headers.get('Idempotent-Replay'), headers: answer.headers }
}

const result = ({ text }: { text: string }) => JSON.parse(text) as InvocationResult

/** The names of the events. */
const events = ({ text }: { text: string }) => [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)

/** Waits until a call runs in the runner. */
function untilRunning(server: Server, running = 1): Promise<unknown> {
  return until(
    async () => (await (await server.fetch('/health')).json()) as { runner: { calls?: { running: number } } },
    ({ runner }) => runner.calls?.running === running,
  )
}

withPython(
  'the same call with its key gets the first answer, with a header; another call is a 409',
  async () => {
    const server = await serving()
    const key = newKey()
    const first = await keyed(server, key, { text: 'a' })
    const again = await keyed(server, key, { text: 'a' })
    expect([first.status, first.replay, again.status, again.replay]).toEqual([200, null, 200, 'true'])
    expect(result(again).textResultForLlm).toBe(result(first).textResultForLlm)
    expect(result(again).meta).toMatchObject({ replayed: true, tool: 'once:stamp' })
    expect(result(await keyed(server, key, { text: 'b' }))).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
    const job = await keyed(server, key, { text: 'a' }, { family: 'jobs', headers: { 'X-User-Id': 'local' } })
    expect([job.status, job.replay]).toEqual([200, null])
  },
)

withPython('a key that is empty, too long or not ASCII is a 400, and nothing is run', async () => {
  const server = await serving()
  for (const key of ['', 'k'.repeat(256), 'schl\u00fcssel']) {
    const answer = await keyed(server, key)
    expect(answer.status).toBe(400)
    expect(result(answer)).toMatchObject({ code: 'HEADER_INVALID' })
    const dispatched = await server.fetch('/workflows/tools/dispatch', {
      method: 'POST',
      headers: { 'Idempotency-Key': key },
      body: '[]',
    })
    const text = await dispatched.text()
    expect([dispatched.status, text]).toEqual([400, expect.stringContaining('HEADER_INVALID')])
  }
})

withPython(
  'a call in flight is a 425; it goes on without its caller, who gets the result later',
  async () => {
    const server = await serving()
    const key = newKey()
    const caller = new AbortController()
    const args = { text: 'left', seconds: 1 }
    const calling = keyed(server, key, args, { signal: caller.signal })
    await untilRunning(server)
    caller.abort()
    await expect(calling).rejects.toThrow()
    const early = await keyed(server, key, args)
    expect([early.status, early.headers.get('Retry-After')]).toEqual([425, '1'])
    const late = await until(
      () => keyed(server, key, args),
      ({ status }) => status !== 425,
    )
    expect([late.status, late.replay]).toEqual([200, 'true'])
  },
)

withPython(
  'of 200 callers with one key at once one runs the tool, and all get its result in the end',
  async () => {
    const server = await serving()
    const key = newKey()
    const calls = await Promise.all(
      Array.from({ length: 200 }, () =>
        until(
          () => keyed(server, key, { text: 'many' }),
          ({ status }) => status !== 425,
        ),
      ),
    )
    expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(calls.map((call) => result(call).textResultForLlm)).size).toBe(1)
    expect(calls.filter(({ replay }) => replay === null)).toHaveLength(1)
  },
)

withPython('a replayed call that is streamed has only a result', async () => {
  const server = await serving()
  const key = newKey()
  const init = { headers: { Accept: 'text/event-stream' } }
  const first = await keyed(server, key, {}, init)
  const again = await keyed(server, key, {}, init)
  expect(events(first)).toEqual(['start', 'log', 'result'])
  expect(events(again)).toEqual(['result'])
  expect([again.headers.get('Content-Type'), again.replay]).toEqual([
    'text/event-stream; charset=utf-8',
    'true',
  ])
})

withPython(
  'kill -9 of the service during a call: the key is UNKNOWN_OUTCOME after the restart, and stays so',
  async () => {
    const server = await serving()
    const [lost, done] = [newKey(), newKey()]
    const kept = await keyed(server, done)
    const calling = keyed(server, lost, { seconds: 20 })
    await untilRunning(server)
    await Promise.all([expect(calling).rejects.toThrow(), server.kill9()])
    await server.restart()
    for (let times = 0; times < 2; times += 1) {
      const again = await keyed(server, lost, { seconds: 20 })
      expect([again.status, result(again)]).toMatchObject([503, { code: 'UNKNOWN_OUTCOME' }])
      expect(again.headers.get('Retry-After')).toBeNull()
    }
    const replayed = await keyed(server, done)
    expect(result(replayed).textResultForLlm).toBe(result(kept).textResultForLlm)
    const stored = readFileSync(join(server.data, 'governance.sqlite-wal')).toString('latin1')
    expect(stored).not.toContain(lost)
  },
)
