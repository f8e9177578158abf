import { expect, test } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { layerState, moduleOf, serverWithRunner, upload, uploaded } from '../support/modules.ts'
import { runnerTreeOf } from '../support/processes.ts'
import { withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { listedNames } from '../support/tool.ts'
import { until } from '../support/until.ts'

test('without a runner an upload is a 503 that says why, and nothing is written', async () => {
  await using server = await Server.start({ args: ['--no-python=No Python was found: install one.'] })
  const before = await layerState(server)
  const answer = await upload(server, 'notes', moduleOf('notes', 'a'))
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(await errorAnswer(answer)).toMatchObject({
    httpStatus: 503,
    reason: 'RUNNER_UNAVAILABLE',
    message: 'No module can be checked here, so nothing was written. No Python was found: install one.',
  })
  expect(await layerState(server)).toEqual(before)
})

withPython('a runner below the level that it is asked for checks nothing', async () => {
  await using server = await serverWithRunner({ env: { TOOLRACK_RUNNER_MIN_ISOLATION: 'L4' } })
  const before = await layerState(server)
  expect(await errorAnswer(await upload(server, 'notes', moduleOf('notes', 'a')))).toMatchObject({
    httpStatus: 503,
    reason: 'ISOLATION_UNAVAILABLE',
  })
  expect(await layerState(server)).toEqual(before)
})

withPython(
  'a runner that is killed in the middle of a check costs that upload; the old version serves, the next works',
  async () => {
    await using server = await serverWithRunner()
    await uploaded(server, 'notes', moduleOf('notes', 'a'))
    const before = await layerState(server)
    const uploading = upload(server, 'notes', `import time\ntime.sleep(60)\n${moduleOf('notes', 'b')}`)
    const [runner = 0, ...idle] = runnerTreeOf(server.pid)
    await until(
      () => Promise.resolve(runnerTreeOf(server.pid)),
      (now) => now.some((pid) => !idle.includes(pid) && pid !== runner),
    )
    process.kill(runner, 'SIGKILL')
    expect(await errorAnswer(await uploading)).toMatchObject({
      httpStatus: 503,
      reason: 'RUNNER_UNAVAILABLE',
    })
    expect(await layerState(server)).toEqual(before)
    const next = await until(
      () => upload(server, 'notes', moduleOf('notes', 'c')),
      ({ status }) => status !== 503,
    )
    expect(next.status).toBe(200)
    expect(await listedNames(server, 'category=notes')).toEqual(['notes:c'])
  },
)
