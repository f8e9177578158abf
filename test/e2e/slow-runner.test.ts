import { afterAll, expect } from '@jest/globals'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { invoke, invoked } from '../support/invocation.ts'
import { moduleOf, upload } from '../support/modules.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { whilePending } from '../support/while-pending.ts'

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const gate = join(folder.path, 'gate')
const data = join(folder.path, 'data')

// The real Python, which starts when the gate opens. If the gate says `die`, or if the test has ended, the
// process ends instead.
const slowPython = join(folder.path, 'python')
writeFileSync(
  slowPython,
  `#!/bin/sh
until [ -s '${gate}' ]; do
  [ -e '${slowPython}' ] || exit 1
  sleep 0.02
done
grep -q die '${gate}' && exit 3
exec '${PYTHON}' "$@"
`,
  { mode: 0o755 },
)

/** A server whose runner starts when `open` is called. All servers of this file have the same data. */
async function startSlow(): Promise<Server> {
  rmSync(gate, { force: true })
  return Server.start({ data, args: [`--python=${slowPython}`] })
}

function open(word = 'go'): void {
  writeFileSync(gate, word)
}

async function runnerStatus(server: Server): Promise<string> {
  const answer = (await (await server.fetch('/health')).json()) as { runner: { status: string } }
  return answer.runner.status
}

/** Opens the gate after some answers that say that the runner still starts, if the request still waits then. */
async function openWhile(waiting: Promise<Response>, server: Server, word?: string): Promise<Response> {
  const asked = await whilePending(waiting, async (count) => {
    const status = await runnerStatus(server)
    if (count < 5) expect(status).toBe('starting')
    if (count === 5) open(word)
  })
  expect(asked).toBeGreaterThan(5)
  return waiting
}

const MODULE = moduleOf('patient', 'repeat')

withPython('an upload that comes while the runner starts waits for it', async () => {
  await using server = await startSlow()
  const answer = await openWhile(upload(server, 'patient', MODULE), server)
  expect([answer.status, await answer.json()]).toMatchObject([201, { outcome: 'created' }])
})

withPython('a call that comes while the runner starts waits for it', async () => {
  await using server = await startSlow()
  const calling = invoke(server, { name: 'patient:repeat', arguments: { text: 'here' } })
  const answer = await openWhile(calling, server)
  expect([answer.status, await answer.json()]).toMatchObject([200, { textResultForLlm: 'here' }])
})

withPython('a call waits no longer when the runner has failed to start, and is told why', async () => {
  await using server = await startSlow()
  const calling = invoke(server, { name: 'patient:repeat', arguments: { text: 'here' } })
  const answer = await openWhile(calling, server, 'die')
  expect([answer.status, await answer.json()]).toMatchObject([
    503,
    { code: 'RUNNER_UNAVAILABLE', error: expect.stringContaining('has ended with exit code 3') },
  ])
  open()
  await until(
    () => runnerStatus(server),
    (status) => status === 'ready',
  )
  expect(await invoked(server, 'patient:repeat', { text: 'again' })).toMatchObject([
    200,
    { textResultForLlm: 'again' },
  ])
})

withPython('an upload whose caller has gone while it waited writes nothing', async () => {
  await using server = await startSlow()
  const caller = new AbortController()
  const body = new TextEncoder().encode(moduleOf('gone', 'repeat'))
  const uploading = server.fetch('/workflows/tools/modules/gone', {
    method: 'PUT',
    body,
    signal: caller.signal,
  })
  const ended = expect(uploading).rejects.toThrow()
  await whilePending(
    uploading.catch(() => undefined),
    async (count) => {
      expect(await runnerStatus(server)).toBe('starting')
      if (count === 5) caller.abort()
    },
  )
  await ended
  open()
  expect((await upload(server, 'after', moduleOf('after', 'repeat'))).status).toBe(201)
  expect((await server.fetch('/workflows/tools/modules/gone')).status).toBe(404)
})
