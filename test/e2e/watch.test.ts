import { expect, test } from '@jest/globals'
import { ToolDefs } from '../../packages/client/src/index.ts'
import { feedReader } from '../support/change-events.ts'
import { tool } from '../support/definition-changes.ts'
import { Server } from '../support/server.ts'

const write = async (server: Server, name: string): Promise<void> => {
  const body = JSON.stringify(tool(name))
  expect((await server.fetch(`/workflows/tools/defs/${name}`, { method: 'PUT', body })).status).toBe(201)
}

test('a client is told of changes, of an outage once, and of what changed around a restart', async () => {
  await using server = await Server.start()
  const ending = new AbortController()
  const defs = new ToolDefs({
    service: server.url,
    token: server.token,
    // The server has another port after a restart.
    fetch(asked, init) {
      const { pathname, search } = new URL(asked instanceof Request ? asked.url : asked)
      return fetch(`${server.url}${pathname}${search}`, init)
    },
  })
  const told: string[] = []
  const outages: (string | null)[] = []
  let next = Promise.withResolvers<void>()
  const watching = defs.watch({
    tags: [],
    signal: ending.signal,
    onOutage: (reason) => outages.push(reason && reason.code),
    onChange({ added, removed, isReset, list }) {
      const names = new Set(list.tools.map((one) => one.function.name))
      told.push(
        isReset ? 'all' : `+${added.join()} -${removed.join()} ${added.every((name) => names.has(name))}`,
      )
      next.resolve()
      next = Promise.withResolvers()
    },
  })
  await next.promise
  let change = next.promise
  await write(server, 'first')
  await change
  change = next.promise
  await server.stop()
  await server.restart()
  await write(server, 'second')
  await change
  expect(told).toEqual(['all', '+first - true', '+second - true'])
  expect(outages.length === 0 || outages.at(-1) === null).toBe(true)
  ending.abort()
  await watching
})

test('a stopping server ends its feeds at once, whole', async () => {
  await using server = await Server.start()
  const feed = await server.fetch('/workflows/tools/changes', { headers: { Accept: 'text/event-stream' } })
  const read = feedReader(feed)
  const since = (await read())?.id
  const poll = server.fetch(`/workflows/tools/changes?since=${since}`)
  await write(server, 'seen')
  expect(await read()).toMatchObject({ data: { added: [{ name: 'seen' }] } })
  expect((await poll).status).toBe(200)
  const waiting = server.fetch(
    `/workflows/tools/changes?since=${(await poll).headers.get('X-Tools-Revision')}`,
  )
  // The poll has been read when the answer to a later request on the same server is there.
  await server.fetch('/health')
  server.signal('SIGTERM')
  expect(await read()).toBeUndefined()
  expect((await waiting).status).toBe(204)
  expect(await server.ended()).toMatchObject({ code: 0, stderr: '' })
})

test('a client is told of a change of the selection and of a scope, and its watch ends with its session', async () => {
  await using server = await Server.start()
  for (const name of ['one', 'two']) await write(server, name)
  const select = async (selection: readonly string[]): Promise<void> => {
    const init = { method: 'PUT', body: JSON.stringify({ selection }) }
    expect((await server.fetch('/workflows/sessions/s', init)).status).toBeLessThan(300)
  }
  await select(['one', 'ECHO'])
  const defs = new ToolDefs({ service: server.url, token: server.token, session: 's' })
  const told: object[] = []
  let next = Promise.withResolvers<void>()
  const watching = defs.watch({
    scope: '!ECHO',
    signal: new AbortController().signal,
    onChange({ added, removed, list }) {
      told.push({ added, removed, list: list.tools.map((one) => one.function.name) })
      next.resolve()
      next = Promise.withResolvers()
    },
  })
  await next.promise
  const change = next.promise
  await select(['two', 'ECHO'])
  await change
  expect(told).toEqual([
    { added: [], removed: [], list: ['one'] },
    { added: ['two'], removed: ['one'], list: ['two'] },
  ])
  await server.fetch('/workflows/sessions/s', { method: 'DELETE' })
  await expect(watching).rejects.toMatchObject({ code: 'SERVICE_REFUSED', status: 404 })
})
