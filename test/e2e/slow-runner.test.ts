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

/** A server whose runner starts when `open` is called. Both servers of this file have the same data. */
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

withPython(
  'while the runner starts, uploads and calls wait for it: no longer than their callers, nor than until it has failed, and then they are told why',
  async () => {
    await using first = await startSlow()
    const caller = new AbortController()
    const uploading = first.fetch('/workflows/tools/modules/gone', {
      method: 'PUT',
      body: new TextEncoder().encode(moduleOf('gone', 'repeat')),
      signal: caller.signal,
    })
    const ended = expect(uploading).rejects.toThrow()
    await whilePending(
      uploading.catch(() => undefined),
      async (count) => {
        expect(await runnerStatus(first)).toBe('starting')
        if (count === 5) caller.abort()
      },
    )
    await ended
    const created = await openWhile(upload(first, 'patient', moduleOf('patient', 'repeat')), first)
    expect([created.status, await created.json()]).toMatchObject([201, { outcome: 'created' }])
    expect((await first.fetch('/workflows/tools/modules/gone')).status).toBe(404)
    await first.stop()

    await using second = await startSlow()
    const calling = invoke(second, { name: 'patient:repeat', arguments: { text: 'here' } })
    const answer = await openWhile(calling, second, 'die')
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { code: 'RUNNER_UNAVAILABLE', error: expect.stringContaining('has ended with exit code 3') },
    ])
    open()
    await until(
      () => runnerStatus(second),
      (status) => status === 'ready',
    )
    expect(await invoked(second, 'patient:repeat', { text: 'again' })).toMatchObject([
      200,
      { textResultForLlm: 'again' },
    ])
  },
)
