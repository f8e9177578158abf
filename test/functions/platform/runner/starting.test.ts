import { expect, test } from '@jest/globals'
import { HttpRunner } from '../../../../functions/src/platform/runner/http-runner.ts'
import type { PresentEndpoint } from '../../../../functions/src/platform/runner/http-runner.ts'
import type { RunnerAway } from '../../../../functions/src/catalog/definitions/runner.ts'
import { CALL, SUCCESS } from '../../../support/runner-call.ts'
import { json, ScriptedServer } from '../../../support/scripted-server.ts'

const STARTING: RunnerAway = { status: 'starting', reason: 'Wait.' }
const MODULE = { name: 'm', source: new TextEncoder().encode('TOOL_SPECS = []') }
const NOT_RUN = { code: 'RUNNER_UNAVAILABLE', error: 'Nothing was run: Wait.', retryAfterSeconds: 1 }
const FOREVER = 2_000_000_000

/** A runner that is starting until `go` is called with its endpoint. */
function startingRunner(startMs = FOREVER) {
  let endpoint: PresentEndpoint = STARTING
  const { promise: started, resolve } = Promise.withResolvers<void>()
  return {
    runner: new HttpRunner({ endpoint: () => endpoint, started, patience: { startMs } }),
    go: (next: PresentEndpoint): void => {
      endpoint = next
      resolve()
    },
  }
}

test('a call that waited for the start is sent to the runner, with its whole time', async () => {
  await using there = await ScriptedServer.start()
  there.answers = [json(SUCCESS)]
  const { runner, go } = startingRunner()
  const calling = runner.invoke(CALL)
  expect(await runner.health()).toEqual(STARTING)
  expect(there.asked).toEqual([])
  go({ url: there.origin })
  expect(await calling).toMatchObject({ text: 'cloudy' })
  await runner.close()
})

test('a start that fails ends the wait of calls and checks, with its reason', async () => {
  const { runner, go } = startingRunner()
  const [calling, checking] = [runner.invoke(CALL), runner.check(MODULE)]
  const refused = expect(checking).rejects.toMatchObject({
    code: 'RUNNER_UNAVAILABLE',
    message: 'No module can be checked here, so nothing was written. It has died.',
  })
  go({ status: 'unreachable', reason: 'It has died.' })
  expect(await calling).toMatchObject({ error: 'Nothing was run: It has died.' })
  await refused
})

test('the wait has an end', async () => {
  const { runner } = startingRunner(20)
  expect(await runner.invoke(CALL)).toEqual(NOT_RUN)
  await expect(runner.check(MODULE)).rejects.toMatchObject({ code: 'RUNNER_UNAVAILABLE' })
})

test('a caller who goes ends the wait of a call and of a check', async () => {
  const { runner } = startingRunner()
  const caller = new AbortController()
  const { signal } = caller
  const calling = runner.invoke({ ...CALL, signal })
  const refused = expect(runner.check({ ...MODULE, signal })).rejects.toMatchObject({
    code: 'RUNNER_UNAVAILABLE',
  })
  caller.abort()
  const cancelled = { code: 'CANCELLED', error: expect.stringMatching(/; nothing was run\.$/) }
  expect(await calling).toEqual(cancelled)
  await refused
  // Who has gone already does not begin to wait.
  expect(await runner.invoke({ ...CALL, signal })).toEqual(cancelled)
})

test.each(['absent', 'unreachable'] as const)('nobody waits for a runner that is %s', async (status) => {
  const runner = new HttpRunner({
    endpoint: () => ({ status, reason: 'Wait.' }),
    started: new Promise<void>(() => undefined),
    patience: { startMs: FOREVER },
  })
  expect(await runner.invoke(CALL)).toEqual(NOT_RUN)
  await expect(runner.check(MODULE)).rejects.toMatchObject({ code: 'RUNNER_UNAVAILABLE' })
})
