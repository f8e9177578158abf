// oxlint-disable unicorn/no-thenable -- `then` is a keyword of JSON Schema.
import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { ArtifactSchemas } from '../../../../functions/src/catalog/schemas/artifact-schemas.ts'
import { artifactArguments } from '../../../../functions/src/features/artifacts/artifact-arguments.ts'
import { atOnce } from '../../../../functions/src/loop-turn.ts'

const FILE = { type: 'string', format: 'artifact' }

function found(properties: JsonObject, args: JsonObject, more: JsonObject = {}): readonly string[] {
  const schemas = new ArtifactSchemas({ type: 'object', properties, ...more })
  return atOnce(artifactArguments(schemas, args)).map(({ pointer, id }) => `${pointer}=${id}`)
}

test.each<[string, JsonObject, JsonObject, readonly string[]]>([
  ['a property', { a: FILE, b: { type: 'string' } }, { a: 'x', b: 'y' }, ['/a=x']],
  ['a name with a slash and a tilde', { 'a/b~c': FILE }, { 'a/b~c': 'x' }, ['/a~1b~0c=x']],
  ['elements', { a: { items: FILE } }, { a: ['x', 1, 'y'] }, ['/a/0=x', '/a/2=y']],
  ['first elements', { a: { prefixItems: [{}, FILE], items: {} } }, { a: ['x', 'y', 'z'] }, ['/a/1=y']],
  ['elements as in draft-07', { a: { items: [FILE] } }, { a: ['x', 'y'] }, ['/a/0=x']],
  [
    'other members',
    { o: { properties: { a: {} }, additionalProperties: FILE } },
    { o: { a: 'x', b: 'y' } },
    ['/o/b=y'],
  ],
  ['a reference', { a: FILE, b: { $ref: '#/properties/a' } }, { b: 'x' }, ['/b=x']],
  ['a choice', { a: { anyOf: [{ type: 'number' }, { allOf: [FILE] }] } }, { a: 'x' }, ['/a=x']],
  ['a condition', { a: { if: { minLength: 1 }, then: FILE } }, { a: 'x' }, ['/a=x']],
  [
    'a dependency',
    { o: { dependentSchemas: { b: { properties: { a: FILE } } } } },
    { o: { a: 'x', b: 1 } },
    ['/o/a=x'],
  ],
  [
    'a dependency as in draft-07',
    { o: { dependencies: { c: ['a'], b: { properties: { a: FILE } } } } },
    { o: { a: 'x', b: 1 } },
    ['/o/a=x'],
  ],
  ['`then` without a condition', { a: { then: FILE } }, { a: 'x' }, []],
  ['an inherited name', { a: FILE }, { toString: 'x' }, []],
  [
    'nested values, in their order',
    { a: { items: { properties: { b: FILE, c: { items: FILE } } } }, d: FILE },
    { a: [{ c: ['1', '2'], b: '3' }, { b: '4' }], d: '5' },
    ['/a/0/c/0=1', '/a/0/c/1=2', '/a/0/b=3', '/a/1/b=4', '/d=5'],
  ],
])('%s that names an artifact is found', (_what, properties, args, expected) => {
  expect(found(properties, args)).toEqual(expected)
})

test('a circle of references ends', () => {
  const node = {
    properties: { file: FILE, next: { $ref: '#/$defs/node' } },
    anyOf: [{ $ref: '#/$defs/node' }],
  }
  const root = { $ref: '#/$defs/node', $defs: { node } }
  expect(found({}, { next: { next: { file: 'x' } } }, root)).toEqual(['/next/next/file=x'])
})

test('a schema that leads to no artifact is not visited', () => {
  const many = Array.from({ length: 1_500 }, () => ({}))
  const numbers = Array.from({ length: 100_000 }, () => 1)
  const properties = { x: { items: { if: {}, then: { allOf: [...many] } } }, a: { allOf: [...many, FILE] } }
  const schemas = new ArtifactSchemas({ properties })
  let pieces = 0
  for (const _ of artifactArguments(schemas, { x: numbers, a: 'x' })) pieces += 1
  expect(pieces).toBeLessThan(20)
})

test('a search that would visit a schema and a value too often is refused, and gives turns until then', () => {
  const files = Array.from({ length: 1_500 }, () => FILE)
  const numbers = Array.from({ length: 60_000 }, () => 1)
  const schemas = new ArtifactSchemas({ properties: { x: { items: { anyOf: files } } } })
  const work = artifactArguments(schemas, { x: numbers })
  let pieces = 0
  expect(() => {
    while (!work.next().done) pieces += 1
  }).toThrow('too large together')
  expect(pieces).toBeGreaterThan(50_000)
})
