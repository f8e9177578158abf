import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Statistics, ToolDispatcher } from '../../packages/client/src/index.ts'
import { Server } from '../support/server.ts'

let server: Server
beforeAll(async () => (server = await Server.start()))
afterAll(() => server[Symbol.asyncDispose]())

test('the statistics are those of the calls that the client has made', async () => {
  const connection = { service: server.url, token: server.token }
  await new ToolDispatcher(connection).invoke('ECHO', { text: 'hi' })
  const statistics = new Statistics(connection)
  const { tools, window } = await statistics.tools({ window: 'hour', name: 'ECHO' })
  expect([window, tools]).toMatchObject([
    'hour',
    [{ name: 'ECHO', calls: 1, refused: 0, successRate: 1, lastError: null, circuit: 'closed' }],
  ])
  expect(await statistics.tools({ name: 'READ_FILE' })).toMatchObject({ window: 'day', tools: [] })
  // The user of the embedded server is an admin.
  expect(await statistics.tools({ uid: 'another' })).toMatchObject({ tools: [] })
})
