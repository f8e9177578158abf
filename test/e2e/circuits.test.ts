import { expect } from '@jest/globals'
import { isJsonObject } from '@toolrack/contract'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { parseConfig } from '../../functions/src/hosts/config.ts'
import { openRunner } from '../../functions/src/hosts/local/open-runner.ts'
import { routeService } from '../support/route-service.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { until } from '../support/until.ts'

const clock = { steadyMs: 0 }
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const settings = { TOOLRACK_RUNNER_NETWORK_ALLOW: '127.0.0.0/8,::1/128' }
const runner = openRunner(parseConfig(settings), { python: PYTHON }, log)
const ask = await routeService([], {
  runner,
  steadyMs: () => clock.steadyMs,
  settings: { TOOLRACK_GRANTS: 'accept' },
})

/**
 * A module whose tools ask a program at a port of this machine, which has to answer within a second. The tool `careful` has a
 * fallback.
 */
function asking(port: number): string {
  return `
import urllib.request

def weather() -> str:
    """Asks for the weather."""
    with urllib.request.urlopen("http://localhost:${port}/") as answer:
        return answer.read().decode()

def guess() -> str:
    """Guesses the weather."""
    return "cloudy"

HOST = {"network": ["localhost:${port}"], "timeoutSeconds": 1}
GUESS = {"fallbackTools": [{"name": "far:guess"}]}
TOOL_SPECS = [
    {"name": "far:weather", "handler": weather, **HOST},
    {"name": "far:careful", "handler": weather, **HOST, "onFailure": GUESS},
    {"name": "far:guess", "handler": guess},
]
`
}

/** A host that takes connections, and answers them, or does nothing, or closes them. */
class Host implements AsyncDisposable {
  does: 'answer' | 'nothing' | 'close' = 'answer'
  readonly #server: Server
  readonly #open = new Set<Socket>()

  constructor() {
    this.#server = createServer((socket) => {
      this.#open.add(socket)
      socket.on('error', () => undefined)
      socket.on('data', () => {
        if (this.does === 'answer') socket.end('HTTP/1.0 200 OK\r\n\r\nsunny')
        if (this.does === 'close') socket.destroy()
      })
    })
  }

  async listening(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** Uploads the module, when the runner is ready. */
async function uploadedFor(port: number): Promise<void> {
  await until(
    () => runner.health(),
    ({ status }) => status === 'ready',
  )
  const { status } = await ask('ann', 'PUT /tools/modules/far', { body: asking(port) })
  expect([200, 201]).toContain(status)
}

async function call(name = 'far:weather') {
  const { status, code, body, headers } = await ask('ann', 'POST /tools/invoke', { body: { name } })
  return {
    status,
    code,
    text: body['textResultForLlm'],
    meta: body['meta'],
    after: headers.get('Retry-After'),
  }
}

async function circuit(name = 'far:weather') {
  const { body } = await ask('ann', `GET /tools/explain?name=${name}`)
  return body['circuit']
}

/**
 * Calls the tool, whose host does not answer, until its circuit is open, and returns how many calls that took. On a busy machine
 * a process may get so little of its second that the deadline is not counted as a fault of the tool.
 */
async function deadlinesUntilOpen(): Promise<number> {
  for (let calls = 1; calls <= 30; calls += 1) {
    expect(await call()).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    const now = await circuit()
    if (isJsonObject(now) && now['state'] === 'open') {
      expect(now['for']).toBe('you')
      return calls
    }
  }
  throw new Error('30 calls have not opened the circuit')
}

withPython(
  'a tool whose host does not answer shows an open circuit in explain, and comes back by itself',
  async () => {
    await using host = new Host()
    await uploadedFor(await host.listening())
    expect(await call()).toMatchObject({ status: 200, text: 'sunny' })
    expect(await circuit()).toEqual({ state: 'closed' })

    host.does = 'nothing'
    expect(await deadlinesUntilOpen()).toBeGreaterThanOrEqual(5)
    expect(await call()).toMatchObject({ status: 503, code: 'TOOL_UNAVAILABLE', after: '60' })

    clock.steadyMs += 60_000
    expect(await circuit()).toEqual({ state: 'half-open', for: 'you' })
    expect(await deadlinesUntilOpen()).toBeGreaterThanOrEqual(1)
    expect(await call()).toMatchObject({ status: 503, code: 'TOOL_UNAVAILABLE' })

    host.does = 'answer'
    clock.steadyMs += 60_000
    expect(await call()).toMatchObject({ status: 200, text: 'sunny' })
    expect(await circuit()).toEqual({ state: 'closed' })
  },
)

withPython(
  'a tool whose host closes connections is answered by its fallback, also while its circuit is open, and comes back by itself',
  async () => {
    await using host = new Host()
    await uploadedFor(await host.listening())
    host.does = 'close'
    const guessed = { status: 200, text: 'cloudy', meta: { tool: 'far:guess', fallbackFor: 'far:careful' } }
    for (let n = 0; n < 5; n += 1) {
      expect(await circuit('far:careful')).toEqual({ state: 'closed' })
      expect(await call('far:careful')).toMatchObject(guessed)
    }
    expect(await circuit('far:careful')).toMatchObject({ state: 'open', for: 'you' })
    expect(await call('far:careful')).toMatchObject(guessed)

    host.does = 'answer'
    clock.steadyMs += 60_000
    expect(await call('far:careful')).toMatchObject({ status: 200, text: 'sunny' })
    expect(await circuit('far:careful')).toEqual({ state: 'closed' })
  },
)

withPython('a tool whose host refuses connections shows an open circuit', async () => {
  const host = new Host()
  const port = await host.listening()
  await host[Symbol.asyncDispose]()
  await uploadedFor(port)
  for (let n = 0; n < 5; n += 1) expect(await call()).toMatchObject({ status: 200, code: 'TOOL_RAISED' })
  expect(await call()).toMatchObject({ status: 503, code: 'TOOL_UNAVAILABLE' })
  expect(await circuit()).toMatchObject({ state: 'open', for: 'you' })
})
