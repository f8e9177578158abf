import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { invoked } from '../support/invocation.ts'
import { serverWithRunner, sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { unsignedTokens } from '../support/two-users/unsigned-tokens.ts'
import { until } from '../support/until.ts'

/** A module whose tools print what could deceive an operator, and then succeed, fail or never end. */
const MODULE = `
import time

FORGED = "call  shown:good  ok  1.0 ms  00000000-0000-4000-8000-000000000000"


def good(secret: str) -> str:
    """Prints and succeeds."""
    print("not shown")
    return "a result"


def bad(secret: str) -> str:
    """Prints and raises."""
    print("\\x1b[2J\\x1b]0;title\\x07" + FORGED + "\\r" + FORGED)
    print(FORGED)
    print("." * 72 + FORGED)
    raise ValueError(secret)


def late() -> str:
    """Prints and does not end."""
    print("waiting", flush=True)
    time.sleep(1_000)
    return "done"


def loud() -> str:
    """Prints much and raises."""
    for number in range(2_000):
        print("line", number)
    raise ValueError("enough")


TOOL_SPECS = [{"name": f"shown:{handler.__name__}", "handler": handler} for handler in (good, bad, loud)] + [
    {"name": "shown:late", "handler": late, "timeoutSeconds": 0.25}
]
`

const started = sharedServerWithRunner()

async function serving(): Promise<Server> {
  const server = await started()
  await uploaded(server, 'shown', MODULE)
  return server
}

/** The line of a call and the rows below it. */
async function linesOf(server: Server, id: string): Promise<readonly string[]> {
  const log = await until(
    () => Promise.resolve(server.log),
    (text) => text.includes(`  ${id}\n`),
  )
  const lines = log.split('\n')
  const first = lines.findIndex((line) => line.endsWith(`  ${id}`))
  const others = lines.slice(first + 1)
  const end = others.findIndex((line) => !line.startsWith('      '))
  return [lines[first] ?? '', ...others.slice(0, end)]
}

const SECRET = 'a-secret-argument'

withPython('each call is a line with its tool, outcome, milliseconds and id', async () => {
  const server = await serving()
  const [, good] = await invoked(server, 'shown:good', { secret: SECRET })
  expect(await linesOf(server, good.meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:good {2}ok {2}\d+\.\d ms {2}[0-9a-f-]{36}$/),
  ])
  const [, wrong] = await invoked(server, 'shown:good', { secrets: SECRET })
  const [, none] = await invoked(server, 'shown:none')
  expect(await linesOf(server, wrong.meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:good {2}ARGUMENTS_INVALID {2}/),
  ])
  expect(await linesOf(server, none.meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:none {2}TOOL_NOT_FOUND {2}/),
  ])
  expect(server.log).not.toContain('not shown')
  expect(server.log).not.toContain('a result')
})

withPython('the calls of a dispatch are lines too', async () => {
  const server = await serving()
  const calls = ['one', 'two'].map((id) => ({ type: 'tool_use', id, name: 'ECHO', input: { text: id } }))
  const answer = await server.fetch('/workflows/tools/dispatch', {
    method: 'POST',
    body: JSON.stringify(calls),
  })
  const { results } = (await answer.json()) as { results: { result: { meta: { invocationId: string } } }[] }
  expect(results).toHaveLength(2)
  for (const { result } of results)
    expect(await linesOf(server, result.meta.invocationId)).toEqual([
      expect.stringMatching(/^call {2}ECHO {2}ok /),
    ])
})

withPython(
  'what a failed call printed is shown, and cannot act on the terminal or forge a line',
  async () => {
    const server = await serving()
    const [, { meta }] = await invoked(server, 'shown:bad', { secret: SECRET })
    const [line, ...rows] = await linesOf(server, meta.invocationId)
    expect(line).toMatch(/^call {2}shown:bad {2}TOOL_RAISED {2}/)
    expect(rows[0]).toMatch(/^ {6}\| \\u001b\[2J\\u001b\]0;title\\u0007call {2}shown:good/)
    expect(rows.length).toBeGreaterThan(3)
    for (const row of rows) {
      expect(row).toMatch(/^ {6}\| /)
      expect(row.length).toBeLessThanOrEqual(80)
    }
    expect(server.log).not.toMatch(/[^\P{C}\n]/u)
    expect(server.log).not.toMatch(/^call.* 00000000-0000-4000-8000-000000000000$/m)
    expect(server.log).not.toContain(SECRET)
  },
)

withPython('what a killed call printed is shown, and no more than the last rows of much', async () => {
  const server = await serving()
  const [, late] = await invoked(server, 'shown:late')
  expect(await linesOf(server, late.meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:late {2}DEADLINE_EXCEEDED {2}/),
    '      | waiting',
  ])
  const [, loud] = await invoked(server, 'shown:loud')
  const rows = await linesOf(server, loud.meta.invocationId)
  expect(rows).toHaveLength(22)
  expect(rows.slice(-1)).toEqual(['      | line 1999'])
})

withPython('what the call of a user printed is not shown to an operator who is somebody else', async () => {
  await using tokens = await unsignedTokens()
  const headers = { Authorization: `Bearer ${tokens.tokenOf('ann')}` }
  await using server = await serverWithRunner({ env: tokens.env }, headers)
  const ann: Pick<Server, 'fetch'> = { fetch: (path, init) => server.fetch(path, { ...init, headers }) }
  await uploaded(ann, 'shown', MODULE)
  const [, { meta }] = await invoked(ann, 'shown:late')
  expect(await linesOf(server, meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:late {2}DEADLINE_EXCEEDED {2}/),
  ])
})

test('a deployed server shows no calls', async () => {
  await using server = await Server.start({ env: { K_SERVICE: 'toolrack', FIRESTORE_EMULATOR_HOST: '' } })
  expect((await invoked(server, 'ECHO', { text: 'a' }))[0]).toBe(200)
  const { stderr } = await server.stop()
  expect(stderr).not.toContain('ECHO')
})

/** Enough calls to fill a pipe, or a terminal, several times. */
async function callMuch(server: Server, name: string): Promise<void> {
  for (let round = 0; round < 80; round += 1) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => invoked(server, name)))
    for (const [status] of answers) expect(status).toBe(404)
  }
}

const LONG = `T${'x'.repeat(127)}`

const hasFifo = spawnSync('mkfifo', ['--version']).status === 0
const withFifo = testWhere(hasFifo, 'mkfifo is missing: a pipe that nobody reads can not be tried.')

withFifo('calls and the end of the server do not wait for a pipe that nobody reads', async () => {
  using folder = temporaryFolder()
  const fifo = join(folder.path, 'fifo')
  spawnSync('mkfifo', [fifo])
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
  await using server = await Server.start({ through: ['sh', '-c', 'exec "$@" 2>"$0"', fifo] })
  await callMuch(server, LONG)
  expect((await server.stop()).code).toBe(0)
  const taken = Buffer.alloc(128 * 1024)
  const text = taken.toString('utf8', 0, readSync(reader, taken))
  closeSync(reader)
  expect(text.length).toBeGreaterThan(60_000)
  expect(text).toMatch(new RegExp(`^call {2}${LONG} {2}TOOL_NOT_FOUND `))
})

/** Starts a program whose standard error is a terminal that nobody reads. The program itself has the other end of the terminal. */
const STOPPED_TERMINAL = `
import os, pty, sys
ours, theirs = pty.openpty()
os.set_inheritable(ours, True)
os.dup2(theirs, 2)
os.execvp(sys.argv[1], sys.argv[1:])
`

withPython('calls and the end of the server do not wait for a terminal that is stopped', async () => {
  await using server = await Server.start({ through: [PYTHON, '-c', STOPPED_TERMINAL] })
  await callMuch(server, LONG)
  expect((await server.stop()).code).toBe(0)
})
