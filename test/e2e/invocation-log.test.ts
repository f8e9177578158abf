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

withPython(
  'a dry run never runs the tool of a module, and is found as a dry run beside the call itself',
  async () => {
    const server = await start()
    await uploaded(server, 'weather', WEATHER)
    const body = JSON.stringify({ name: 'weather:loud', arguments: { lines: 2 } })
    const dry = await server.fetch('/workflows/tools/invoke?dryRun=1', { method: 'POST', body })
    expect([dry.status, await dry.json()]).toMatchObject([200, { decision: 'allow', effects: ['opaque'] }])
    const [, { meta }] = await invoked(server, 'weather:loud', { lines: 2 })
    const page = await server.fetch('/workflows/tools/invocations?tool=weather:loud&limit=2')
    expect(await page.json()).toMatchObject({
      items: [
        {
          invocationId: meta.invocationId,
          dryRun: false,
          hasLog: true,
          usage: { cpuMs: expect.any(Number) },
        },
        { dryRun: true, hasLog: false, outcome: 'success', isolation: null, usage: null },
      ],
    })
  },
)

withPython('a log outlives the server that it was printed on', async () => {
  const server = await start()
  await uploaded(server, 'weather', WEATHER)
  const [, { meta }] = await invoked(server, 'weather:loud', { lines: 1 })
  await server.stop()
  await server.restart()
  const answer = await server.fetch(`/workflows/tools/invocations/${meta.invocationId}/log`)
  expect(await answer.json()).toMatchObject({ text: 'line 0\na complaint\n' })
  const call = await server.fetch(`/workflows/tools/invocations/${meta.invocationId}`)
  expect(await call.json()).toMatchObject({ tool: 'weather:loud', digest: meta.digest, hasLog: true })
})
