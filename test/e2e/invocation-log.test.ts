import { expect } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { WEATHER } from '../support/weather-module.ts'

const start = sharedServerWithRunner()

withPython('what a call has printed is there for its caller, also when it failed', async () => {
  const server = await start()
  await uploaded(server, 'weather', WEATHER)
  const [, { meta }] = await invoked(server, 'weather:loud', { lines: 2 })
  const answer = await server.fetch(`/workflows/tools/invocations/${meta.invocationId}/log`)
  expect([answer.status, await answer.json()]).toEqual([
    200,
    {
      invocationId: meta.invocationId,
      tool: 'weather:loud',
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      text: 'line 0\nline 1\na complaint\n',
      truncated: false,
    },
  ])
  const [, long] = await invoked(server, 'weather:loud', { lines: 20_000 })
  const cut = await server.fetch(`/workflows/tools/invocations/${long.meta.invocationId}/log`)
  expect(await cut.json()).toMatchObject({ truncated: true })
})

withPython('a call that printed nothing, one that never was, and what is no id have no log', async () => {
  const server = await start()
  const [, { meta }] = await invoked(server, 'ECHO', { text: 'a' })
  const ids = [meta.invocationId, '00000000-0000-4000-8000-000000000000', '..%2f..%2fdefs', 'x'.repeat(300)]
  for (const id of ids) {
    const answer = await server.fetch(`/workflows/tools/invocations/${id}/log`)
    expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 404, reason: 'INVOCATION_NOT_FOUND' })
  }
})

withPython('a log outlives the server that it was printed on', async () => {
  const server = await start()
  await uploaded(server, 'weather', WEATHER)
  const [, { meta }] = await invoked(server, 'weather:loud', { lines: 1 })
  await server.stop()
  await server.restart()
  const answer = await server.fetch(`/workflows/tools/invocations/${meta.invocationId}/log`)
  expect(await answer.json()).toMatchObject({ text: 'line 0\na complaint\n' })
})
