import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { ListedTool } from '@toolrack/contract'
import { ToolDefs } from '../../packages/client/src/index.ts'
import { rawExchange } from '../support/raw-http.ts'
import { Server } from '../support/server.ts'
import { put, tool } from '../support/tool.ts'

let server: Server
beforeAll(async () => {
  server = await Server.start()
  await put(server, 'SAY_HELLO', tool('SAY_HELLO'))
})
afterAll(() => server[Symbol.asyncDispose]())

const NAMES = ['READ_FILE', 'UPDATE_FILE']

/** What deployed clients send, byte for byte; all of it is still to be understood. */
test.each([
  ['a list that was joined with a comma in front', '/jobs/tools/list?names=,READ_FILE,UPDATE_FILE'],
  ['a comma-separated list', '/jobs/tools/list?names=READ_FILE,UPDATE_FILE'],
  ['a comma-separated list, encoded', '/jobs/tools/list?names=READ_FILE%2CUPDATE_FILE'],
  ['a JSON array', '/jobs/tools/list?names=%5B%22READ_FILE%22%2C%22UPDATE_FILE%22%5D'],
  ['a JSON array with blanks', '/jobs/tools/list?names=%5B%22READ_FILE%22,%20%22UPDATE_FILE%22%5D'],
  ['a JSON array as it is', '/jobs/tools/list?names=["READ_FILE","UPDATE_FILE"]'],
  ['repeated names with brackets', '/workflows/tools/list?names[]=READ_FILE&names[]=UPDATE_FILE'],
  ['the same, encoded', '/workflows/tools/list?names%5B%5D=READ_FILE&names%5B%5D=UPDATE_FILE'],
  ['repeated names', '/workflows/tools/list?names=READ_FILE&names=UPDATE_FILE'],
  ['a single name and its synonym', '/workflows/tools/list?name=READ_FILE&only=UPDATE_FILE'],
])('a client that sends %s gets these tools, in both envelopes', async (_title, path) => {
  const bare = (await answered(path)) as ListedTool[]
  expect(bare.map((each) => each.function.name)).toEqual(NAMES)
  for (const each of bare)
    expect(each).toEqual({
      type: 'function',
      function: {
        name: expect.any(String),
        description: expect.any(String),
        parameters: expect.objectContaining({
          type: 'object',
          properties: expect.anything(),
          required: expect.anything(),
        }),
      },
    })
  const { items } = (await answered(`${path}&envelope=items`)) as {
    items: (ListedTool & { workflowName: string })[]
  }
  expect(items).toEqual(bare.map((each) => ({ ...each, workflowName: 'tools-CliTools' })))
})

test.each([
  '/jobs/tools/list?names=',
  '/jobs/tools/list?names=,',
  '/jobs/tools/list?names=%20,%20',
  '/jobs/tools/list',
])('a client without a choice of tools, %s, gets every tool', async (path) => {
  const every = (await answered(path)) as ListedTool[]
  expect(every.map((each) => each.function.name)).toEqual(expect.arrayContaining([...NAMES, 'SAY_HELLO']))
})

test('a client that asks for no tool gets none', async () => {
  expect(await answered('/jobs/tools/list?names=%5B%5D')).toEqual([])
})

test.each([[',READ_FILE,UPDATE_FILE'], ['["READ_FILE","UPDATE_FILE"]'], [NAMES]])(
  'our own client understands the same, %p, on both routes',
  async (names) => {
    for (const route of ['workflows', 'jobs'] as const) {
      const tools = new ToolDefs({ service: server.url, token: server.token, route })
      const list = await tools.list({ names })
      expect(list).toMatchObject({ source: 'service', unknown: [] })
      expect(list.tools.map((each) => each.function.name)).toEqual(NAMES)
    }
  },
)

async function answered(path: string): Promise<unknown> {
  const { host } = new URL(server.url)
  const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${server.token}\r\nConnection: close\r\n\r\n`
  const { status, body } = await rawExchange(server.url, head)
  expect([path, status]).toEqual([path, 200])
  return JSON.parse(body)
}
