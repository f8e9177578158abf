import { afterAll, expect, test } from '@jest/globals'
import { isJsonObject } from '@toolrack/contract'
import type { JsonObject, JsonValue } from '@toolrack/contract'
import { Server } from '../support/server.ts'
import { list, listedNames } from '../support/tool.ts'

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
  expect(server.log).toBe('')
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
