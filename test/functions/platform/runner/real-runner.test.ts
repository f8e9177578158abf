import { expect } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Runner, RunnerHealth } from '../../../../functions/src/catalog/definitions/runner.ts'
import { parseConfig } from '../../../../functions/src/hosts/config.ts'
import { openRunner } from '../../../../functions/src/hosts/local/open-runner.ts'
import { commandOf, descendantsOf, isAlive } from '../../../support/processes.ts'
import { PYTHON, RUNNER, withPython } from '../../../support/runner-environment.ts'
import { until } from '../../../support/until.ts'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

function healthWith(runner: Runner, status: string): Promise<RunnerHealth> {
  return until(
    () => runner.health(),
    (health) => health.status === status,
  )
}

/** The runners that a process has started. */
function runnersBelow(pid: number): number[] {
  const started = descendantsOf(pid).filter((each) => commandOf(each).includes('--parent=stdin'))
  // A runner's children have its command too.
  return started.filter((each) => !started.some((other) => descendantsOf(other).includes(each)))
}

withPython('a runner that runs elsewhere is asked with RUNNER_SECRET, and refuses another', async () => {
  const secret = 'what only the two of them know'.replaceAll(' ', '-')
  const elsewhere = spawn(PYTHON, ['-I', RUNNER, '--parent=stdin'], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    elsewhere.stdin.write(`${secret}\n`)
    const [line] = (await once(elsewhere.stdout.setEncoding('utf8'), 'data')) as [string]
    const { listening: RUNNER_URL } = JSON.parse(line) as { listening: string }
    const named = (RUNNER_SECRET: string) =>
      openRunner(parseConfig({ RUNNER_URL, RUNNER_SECRET }), { python: PYTHON }, log)
    const [friend, stranger] = [named(secret), named(`${secret}r`)]
    expect(await healthWith(friend, 'ready')).toMatchObject({ isolation: expect.stringMatching(/^L[0-4]$/) })
    expect(await healthWith(stranger, 'unreachable')).toMatchObject({
      reason: 'The runner refuses the secret of this service.',
    })
    // None was started beside it.
    expect(runnersBelow(process.pid)).toEqual([elsewhere.pid])
    await Promise.all([friend.close(), stranger.close()])
  } finally {
    elsewhere.stdin.end()
    await once(elsewhere, 'exit')
  }
})

withPython('a setting that the runner refuses is told by its name', async () => {
  const settings = { TOOLRACK_RUNNER_SLOTS: '2', TOOLRACK_RUNNER_USER_SLOTS: '3' }
  const runner = openRunner(parseConfig(settings), { python: PYTHON }, log)
  expect(await healthWith(runner, 'unreachable')).toMatchObject({
    reason: expect.stringMatching(
      /exit code 78: .*TOOLRACK_RUNNER_USER_SLOTS.*; correct that, then start the server again\.$/,
    ),
  })
  await runner.close()
})

withPython('a runner that is closed while it starts leaves nothing', async () => {
  const runner = openRunner(parseConfig({}), { python: PYTHON }, log)
  const started = await until(
    () => Promise.resolve(runnersBelow(process.pid)),
    ({ length }) => length > 0,
  )
  await runner.close()
  await until(
    () => Promise.resolve(started.filter(isAlive)),
    ({ length }) => length === 0,
  )
})
