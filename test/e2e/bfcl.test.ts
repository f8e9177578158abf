import type { JsonObject, JsonValue, ListedTool } from '@toolrack/contract'
import { dialectRules, DIALECTS, inDialect, isJsonObject } from '@toolrack/contract'
import { afterAll, expect, test } from '@jest/globals'
import type { BulkAnswer } from '../../functions/src/catalog/definitions/write-answer.ts'
import { bfclDefinitions, inBulks } from '../support/bfcl-definitions.ts'
import type { BfclDefinition } from '../support/bfcl-definitions.ts'
import { Server } from '../support/server.ts'
import { list, post } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

async function writeAll(
  definitions: readonly BfclDefinition[],
  layer: string,
): Promise<BulkAnswer['results']> {
  const bulks = inBulks(definitions)
  expect(bulks).toHaveLength(4)
  const results = []
  for (const bulk of bulks) {
    const answer = await post(server, bulk, `layer=${layer}`)
    expect(answer.status).toBe(200)
    results.push(...((await answer.json()) as BulkAnswer).results)
  }
  return results
}

/** The listed parameters as text, without the three keys where the author had not written them. */
function asWritten(listed: ListedTool, author: JsonObject): string {
  const added = new Set(['type', 'properties', 'required'].filter((key) => !(key in author)))
  const kept = Object.entries(listed.function.parameters).filter(([key]) => !added.has(key))
  return JSON.stringify(Object.fromEntries(kept))
}

test('all 753 definitions go in by four POSTs and come out equal, key order kept', async () => {
  const definitions = bfclDefinitions('definitions')
  expect(definitions).toHaveLength(753)
  const results = await writeAll(definitions, 'user')
  expect(results.filter(({ outcome, normalised }) => outcome !== 'created' || normalised.length > 0)).toEqual(
    [],
  )

  const listed = new Map((await list(server)).map((one) => [one.function.name, one]))
  for (const { function: fn } of definitions) {
    const one = listed.get(fn.name)
    if (!one) throw new Error(`${fn.name} is not listed`)
    expect(one.function.description).toBe(fn.description)
    expect(asWritten(one, fn.parameters)).toBe(JSON.stringify(fn.parameters))
    expect(one.function.parameters).toMatchObject({ type: 'object', properties: {} })
    expect(Array.isArray(one.function.parameters['required'])).toBe(true)
  }
})

test('all 753 are listed in every dialect as the contract says them, and none is left out', async () => {
  const definitions = bfclDefinitions('definitions')
  for (const dialect of DIALECTS) {
    const expected = definitions.map((definition) => {
      const converted = inDialect(definition, dialectRules(dialect))
      return JSON.stringify('item' in converted ? converted.item : converted)
    })
    const answer = await server.fetch(`/jobs/tools/list?dialect=${dialect}`)
    expect(answer.headers.get('x-tools-quarantined')).toBeNull()
    const body = (await answer.json()) as { functionDeclarations?: object[] }[]
    const items = dialect === 'gemini' ? (body[0]?.functionDeclarations ?? []) : body
    const listed = new Set(items.map((item) => JSON.stringify(item)))
    expect([dialect, expected.filter((item) => !listed.has(item))]).toEqual([dialect, []])
  }
})

test('the 753 as published go in with every foreign type name normalised and reported with its place', async () => {
  const raw = bfclDefinitions('definitions.raw')
  const results = await writeAll(raw, 'global')
  expect(results).toHaveLength(753)
  let changes = 0
  for (const [index, { normalised, shadows }] of results.entries()) {
    expect(shadows).toEqual([])
    for (const { pointer, from, to } of normalised) {
      expect(pointer).toMatch(/^\/function\/parameters\/(.+\/)?type(\/\d+)?$/)
      expect(at(raw[index] as unknown as JsonValue, pointer)).toBe(from)
      expect(['object', 'number', 'array', null]).toContain(to)
      changes += 1
    }
  }
  expect(changes).toBeGreaterThan(753)
})

test('normalised and stored, the published definitions hold only type names of JSON Schema', async () => {
  const known = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])
  const names = new Set<string>()
  for (let path = '/workflows/tools/defs?layer=global'; path !== '';) {
    const answer = await server.fetch(path)
    const { items } = (await answer.json()) as { items: { definition: BfclDefinition }[] }
    for (const { definition } of items) collectTypes(definition.function.parameters, names)
    path = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1] ?? ''
  }
  expect([...names].filter((name) => !known.has(name))).toEqual([])
  expect(names.size).toBeGreaterThan(4)
})

test('what was normalised once is stable: sent again it is unchanged, and read back and sent it is not normalised', async () => {
  const again = await writeAll(bfclDefinitions('definitions.raw'), 'global')
  expect(again.filter(({ outcome }) => outcome !== 'unchanged')).toEqual([])
  const answer = await server.fetch('/workflows/tools/defs?layer=global')
  const { items } = (await answer.json()) as { items: { definition: BfclDefinition }[] }
  const results = await writeAll(
    items.map(({ definition }) => definition),
    'global',
  )
  expect(
    results.filter(({ outcome, normalised }) => outcome !== 'unchanged' || normalised.length > 0),
  ).toEqual([])
})

function at(value: JsonValue, pointer: string): JsonValue | undefined {
  const keys = pointer.slice(1).split('/')
  return keys.reduce<JsonValue | undefined>(
    (found, key) =>
      typeof found === 'object' && found !== null
        ? (found as { readonly [key: string]: JsonValue })[key.replaceAll('~1', '/').replaceAll('~0', '~')]
        : undefined,
    value,
  )
}

/** Every string under `type` that is a keyword: a property that is called `type` lies under `properties`. */
function collectTypes(schema: JsonValue, names: Set<string>): void {
  if (!isJsonObject(schema)) return
  for (const name of [schema['type']].flat()) if (typeof name === 'string') names.add(name)
  const { properties, items } = schema
  if (isJsonObject(properties)) for (const child of Object.values(properties)) collectTypes(child, names)
  if (items !== undefined) collectTypes(items, names)
}
