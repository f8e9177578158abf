import { afterAll, expect, test } from '@jest/globals'
import { isJsonObject } from '@toolrack/contract'
import type { JsonObject, JsonValue, ListedTool } from '@toolrack/contract'
import { ToolDefs } from '../../packages/client/src/index.ts'
import { rawExchange } from '../support/raw-http.ts'
import { failedStart, Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { list, listedNames, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

test.each([
  ['cli', ['READ_FILE', 'RUN_COMMAND', 'UPDATE_FILE']],
  ['tasks', ['CREATE_TASK', 'UPDATE_TASK']],
  ['authoring', ['CREATE_TOOL']],
])('the family %s ships %j', async (family, names) => {
  expect(await listedNames(server, `category=${family}`)).toEqual(names)
})

test('one agent proxy ships, and names the workflow that runs it', async () => {
  const agents = (await (
    await server.fetch('/workflows/tools/list?category=agents&envelope=items')
  ).json()) as {
    items: { workflowName: string }[]
  }
  expect(agents.items).toHaveLength(1)
  expect(agents.items[0]?.workflowName).not.toBe('tools-CliTools')
})

test('no shipped file or item is skipped', async () => {
  const health = (await (await server.fetch('/health')).json()) as {
    layers: { file: { skipped: unknown[] } }
  }
  expect(health.layers.file.skipped).toEqual([])
  // Any server may print that a busy machine has delayed it.
  expect(server.log.replaceAll(/^warn {2}the event loop was delayed {2}.*\n/gm, '')).toBe('')
})

test('where K_SERVICE is set, as Cloud Run does, a line of the log is JSON', async () => {
  using data = temporaryFolder()
  const env = { K_SERVICE: 'toolrack', FIRESTORE_EMULATOR_HOST: '', TOOLRACK_DATE: 'x' }
  const { stderr } = await failedStart({ data: data.path, args: ['--print-config'], env })
  expect(JSON.parse(stderr)).toEqual({
    severity: 'WARNING',
    message: 'environment variable is not known and has no effect',
    name: 'TOOLRACK_DATE',
    similar: 'TOOLRACK_DATA',
  })
})

/** Every property of a schema, at any depth, with its path. */
function properties(schema: JsonValue | undefined, path = ''): readonly (readonly [string, JsonObject])[] {
  if (!isJsonObject(schema)) return []
  const own = Object.entries(isJsonObject(schema['properties']) ? schema['properties'] : {}).flatMap(
    ([name, child]) =>
      isJsonObject(child)
        ? [[`${path}/${name}`, child] as const, ...properties(child, `${path}/${name}`)]
        : [],
  )
  return [...own, ...properties(schema['items'], `${path}/items`)]
}

test('a model is told what every shipped tool and each of its parameters is for', async () => {
  const shipped = await list(server)
  expect(shipped.length).toBeGreaterThanOrEqual(7)
  for (const { function: fn } of shipped) {
    expect(fn.description.length).toBeGreaterThan(100)
    const described = properties(fn.parameters).map(([path, { description }]) => [
      fn.name,
      path,
      typeof description,
    ])
    expect(described.length).toBeGreaterThan(0)
    expect(described.filter(([, , type]) => type !== 'string')).toEqual([])
    expect(fn.parameters).toMatchObject({ type: 'object', additionalProperties: false })
    const named = Object.keys(fn.parameters['properties'] as object)
    for (const required of fn.parameters['required'] as string[]) expect(named).toContain(required)
  }
})

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
  await put(server, 'SAY_HELLO', tool('SAY_HELLO'))
  const every = (await answered(path)) as ListedTool[]
  await remove(server, 'SAY_HELLO')
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
