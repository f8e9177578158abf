import { expect, test } from '@jest/globals'
import { dialectRules, DIALECTS, inDialect } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import { catalogEntry } from '../../../../functions/src/catalog/views/catalog-entry.ts'
import type { CatalogEntry } from '../../../../functions/src/catalog/views/catalog-entry.ts'
import {
  DialectFragments,
  FRAGMENT_BYTES_MAX,
} from '../../../../functions/src/catalog/views/dialect-fragments.ts'
import { bfclDefinitions } from '../../../support/bfcl-definitions.ts'
import { put, tool } from '../../../support/definition-changes.ts'

const entryOf = (definition: ToolDefinition): CatalogEntry =>
  catalogEntry({ ...put(definition), revision: 'r' }, 'global')

const textOf = (made: ReturnType<DialectFragments['of']>): string | undefined => made?.toString()

const expectedIn = (definition: ToolDefinition, dialect: (typeof DIALECTS)[number]): string | undefined => {
  const converted = inDialect(definition, dialectRules(dialect))
  return 'item' in converted ? JSON.stringify(converted.item) : undefined
}

test('10,000 definitions in all six dialects keep no more memory than the bound, and each is right when it is asked for again', () => {
  const given = bfclDefinitions('definitions')
  const definitions = Array.from({ length: 10_000 }, (_, index): ToolDefinition => {
    const definition = given[index % given.length] ?? tool('none')
    return { ...definition, function: { ...definition.function, name: `tool_${index}` } }
  })
  const entries = definitions.map(entryOf)
  const fragments = new DialectFragments()
  let made = 0
  let highest = 0
  for (const dialect of DIALECTS) {
    for (const entry of entries) made += textOf(fragments.of(entry, dialectRules(dialect)))?.length ?? 0
    highest = Math.max(highest, fragments.bytes)
  }
  expect(made).toBeGreaterThan(FRAGMENT_BYTES_MAX / 2)
  expect(highest).toBeLessThanOrEqual(FRAGMENT_BYTES_MAX)
  expect(highest).toBeGreaterThan(FRAGMENT_BYTES_MAX * 0.9)
  for (const dialect of DIALECTS) {
    for (const index of [0, 4_999, 9_999]) {
      const [entry, definition] = [entries[index], definitions[index]]
      if (!entry || !definition) throw new Error('there is no such definition')
      expect(textOf(fragments.of(entry, dialectRules(dialect)))).toBe(expectedIn(definition, dialect))
    }
  }
  expect(fragments.bytes).toBeLessThanOrEqual(FRAGMENT_BYTES_MAX)
})

test('a definition is converted once for a dialect, and one that is larger than the bound each time', () => {
  const entry = entryOf(tool('a'))
  const mcp = dialectRules('mcp')
  const fragments = new DialectFragments()
  expect(fragments.of(entry, mcp)).toBe(fragments.of(entry, mcp))
  expect(fragments.of(entryOf(tool('a')), mcp)).toBe(fragments.of(entry, mcp))
  const small = new DialectFragments(100)
  expect(small.of(entry, mcp)).toEqual(fragments.of(entry, mcp))
  expect(small.bytes).toBe(0)
})

const ordered = (parameters: ToolDefinition['function']['parameters']): ToolDefinition => ({
  type: 'function',
  function: { name: 'a', description: 'A.', parameters },
})

test('definitions of one digest keep each its own order of keys', () => {
  const definitions = [
    ordered({ type: 'object', properties: { x: { type: 'string' }, y: { type: 'string' } }, required: [] }),
    ordered({ required: [], properties: { y: { type: 'string' }, x: { type: 'string' } }, type: 'object' }),
  ]
  const entries = definitions.map(entryOf)
  expect(entries[0]?.digest).toBe(entries[1]?.digest)
  const fragments = new DialectFragments()
  for (const index of [0, 1, 0, 1]) {
    const [entry, definition] = [entries[index], definitions[index]]
    if (!entry || !definition) throw new Error('there is no such definition')
    expect(textOf(fragments.of(entry, dialectRules('openai')))).toBe(expectedIn(definition, 'openai'))
  }
})
