import { isJsonObject, mapSubschemas } from '@toolrack/contract'
import type { JsonObject, JsonValue } from '@toolrack/contract'
import fc from 'fast-check'
import { changedJson, jsonChanges } from '../json-changes.ts'
import { argumentsFor } from './fitting-arguments.ts'

/** A schema of a tool's parameters, and arguments to be checked against it. */
export type SchemaCase = { readonly parameters: JsonObject; readonly argumentLists: readonly JsonObject[] }

export const NAMES = [
  'a',
  'b',
  'text',
  'location',
  'a b',
  'é',
  '',
  'toString',
  'length',
  '$ref',
  'a/b~c',
  'x'.repeat(70),
]
/** Such that JavaScript and RE2 read them alike, but for the last three, which RE2 cannot run. */
const PATTERNS = ['^a', 'b$', '^[a-z]+$', 'x{2,4}', 'a|b', '^$', '[^a]', 'é', '(?=a)', '^(?!x)', '(a)\\1']
const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false, 0, -0, 1, -1, 1.5, 2, 3, 1e21, 0.1, 2 ** 53 - 1),
  fc.constantFrom<JsonValue>(
    '',
    'a',
    'b',
    'ab',
    'xx',
    'xxxxxx',
    'é',
    '\u{1F600}',
    'a\u0301',
    '\u00e1',
    'null',
    '1',
  ),
)
const name = fc.constantFrom(...NAMES)
const count = fc.nat(4)

type Keywords = Readonly<Record<string, JsonValue>>
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']

/** Keywords that hold no schema. */
const plain: fc.Arbitrary<Keywords> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...TYPES).map((type) => ({ type })) },
  fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 }).map((type) => ({ type })),
  fc
    .uniqueArray(scalar, { minLength: 1, maxLength: 5, comparator: 'SameValueZero' })
    .map((values) => ({ enum: values })),
  scalar.map((value) => ({ const: value })),
  fc.constantFrom<Keywords>(
    { enum: [{ a: 1 }, [1, 2], 'a'] },
    { const: { a: [null] } },
    { nullable: true },
    { format: 'email' },
  ),
  fc
    .tuple(
      fc.constantFrom('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'),
      fc.constantFrom(-1, 0, 1, 1.5, 100),
    )
    .map(([key, value]) => ({ [key]: value })),
  fc.constantFrom(1, 2, 0.1, 0.01, 1.5, 1e-7).map((multipleOf) => ({ multipleOf })),
  fc
    .tuple(
      fc.constantFrom('minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'),
      count,
    )
    .map(([key, value]) => ({ [key]: value })),
  fc.constantFrom(...PATTERNS).map((pattern) => ({ pattern })),
  fc.boolean().map((uniqueItems) => ({ uniqueItems })),
  fc.uniqueArray(name, { maxLength: 3 }).map((required) => ({ required })),
  fc
    .tuple(name, fc.uniqueArray(name, { maxLength: 2 }))
    .map(([key, names]) => ({ dependentRequired: { [key]: names } })),
  fc.constantFrom<Keywords>(
    { title: 'T' },
    { description: 'D' },
    { default: 1 },
    { examples: [1] },
    { $comment: 'C' },
    { unknown: 1 },
  ),
)

/** A schema within the limits. References lead to `$defs` of higher numbers only, so that none is a circle. */
function schemaBelow(depth: number, defs: number): fc.Arbitrary<JsonValue> {
  const flat = fc.array(plain, { maxLength: 3 }).map(merged)
  if (depth === 0) return fc.oneof({ weight: 6, arbitrary: flat }, { weight: 1, arbitrary: fc.boolean() })
  const below = schemaBelow(depth - 1, defs)
  const one = (...keys: readonly string[]) =>
    fc.tuple(fc.constantFrom(...keys), below).map(([key, schema]): Keywords => ({ [key]: schema }))
  const list = (...keys: readonly string[]) =>
    fc
      .tuple(fc.constantFrom(...keys), fc.array(below, { minLength: 1, maxLength: 3 }))
      .map(([key, schemas]): Keywords => ({ [key]: schemas }))
  const map = (key: string, names: fc.Arbitrary<string>) =>
    fc.dictionary(names, below, { maxKeys: 3 }).map((schemas): Keywords => ({ [key]: schemas }))
  const holding = fc.oneof(
    { weight: 5, arbitrary: map('properties', name) },
    { weight: 3, arbitrary: list('anyOf', 'oneOf', 'allOf') },
    { weight: 3, arbitrary: one('items', 'additionalProperties', 'not') },
    { weight: 1, arbitrary: one('contains', 'propertyNames', 'unevaluatedProperties', 'unevaluatedItems') },
    {
      weight: 1,
      arbitrary: fc
        .tuple(below, below, below)
        .map((schemas) =>
          merged(['if', 'then', 'else'].map((key, index) => ({ [key]: schemas[index] ?? true }))),
        ),
    },
    { weight: 1, arbitrary: list('prefixItems') },
    { weight: 1, arbitrary: map('patternProperties', fc.constantFrom(...PATTERNS)) },
    { weight: 1, arbitrary: map('dependentSchemas', name) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(one('contains'), count, count)
        .map(([keywords, min, max]) => ({ ...keywords, minContains: min, maxContains: max })),
    },
    ...(defs > 0
      ? [{ weight: 2, arbitrary: fc.nat(defs - 1).map((index): Keywords => ({ $ref: `#/$defs/d${index}` })) }]
      : []),
  )
  return fc.oneof(
    { weight: 1, arbitrary: flat },
    {
      weight: 3,
      arbitrary: fc
        .tuple(flat, fc.array(holding, { minLength: 1, maxLength: 3 }))
        .map(([a, b]) => merged([a, ...b])),
    },
  )
}

function merged(keywords: readonly Keywords[]): JsonObject {
  return Object.assign({}, ...keywords) as JsonObject
}

const DIALECTS = [
  'https://json-schema.org/draft/2020-12/schema',
  'http://json-schema.org/draft-07/schema#',
  'https://example.com/other',
]

/** Keywords that the service checks itself where there are few of them; `light-work.ts` has the whole list. */
const LIGHT = new Set(
  [
    'type',
    'enum',
    'const',
    'minimum',
    'multipleOf',
    'maxLength',
    'minItems',
    'required',
    'maximum',
    'minLength',
  ]
    .concat([
      'maxItems',
      'minProperties',
      'maxProperties',
      'exclusiveMinimum',
      'exclusiveMaximum',
      'title',
      'default',
    ])
    .concat(['properties', 'anyOf', 'oneOf', 'allOf', 'items', 'additionalProperties', 'not']),
)

function lightPart(schema: JsonValue): JsonValue {
  if (!isJsonObject(schema)) return schema
  const light = Object.fromEntries(
    Object.entries<JsonValue>(schema).filter(([keyword]) => LIGHT.has(keyword)),
  )
  return mapSubschemas(light, lightPart)
}

const costly: fc.Arbitrary<JsonObject> = fc
  .record({
    root: fc.tuple(fc.dictionary(name, schemaBelow(2, 2), { maxKeys: 4 }), fc.array(plain, { maxLength: 1 })),
    more: fc.option(schemaBelow(1, 2)),
    d0: schemaBelow(1, 0),
    d1: schemaBelow(1, 0),
    dialect: fc.oneof(
      { weight: 8, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom(...DIALECTS) },
    ),
  })
  .map(({ root: [properties, keywords], more, d0, d1, dialect }) => ({
    ...merged(keywords),
    type: 'object',
    properties,
    ...(isJsonObject(more) && { allOf: [more] }),
    $defs: { d0, d1 },
    ...(dialect !== undefined && { $schema: dialect }),
  }))

const light: fc.Arbitrary<JsonObject> = fc
  .dictionary(name, schemaBelow(2, 0), { minKeys: 1, maxKeys: 5 })
  .map((properties) => lightPart({ type: 'object', properties }) as JsonObject)

/** What is put into a schema, or into arguments, somewhere. */
const odd: fc.Arbitrary<JsonValue> = fc.oneof(
  scalar,
  fc.constantFrom<JsonValue>(
    [],
    {},
    { $ref: '#/$defs/d0' },
    { $ref: '#' },
    { pattern: 'x{0,1000}' },
    { uniqueItems: true },
    { $async: true },
  ),
  fc.constantFrom<JsonValue>(
    'type',
    'properties',
    'items',
    'pattern',
    'not',
    'nullable',
    'integer',
    'dict',
    '\ud800',
    { a: { a: { a: 1 } } },
  ),
)

export const schemaCases: fc.Arbitrary<SchemaCase> = fc
  .record({
    parameters: fc.oneof(light, costly),
    schemaChanges: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: jsonChanges(odd, 2) },
    ),
    choices: fc.array(fc.array(fc.nat(1_000), { maxLength: 30 }), { minLength: 2, maxLength: 5 }),
    argumentChanges: fc.array(jsonChanges(odd, 3), { minLength: 2, maxLength: 5 }),
    times: fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.constantFrom(20, 200, 2_000) },
    ),
  })
  .map(({ parameters, schemaChanges, choices, argumentChanges, times }) => {
    const changed = objectOf(changedJson(parameters, schemaChanges))
    const argumentLists = choices.map((choice, index) =>
      objectOf(longer(changedJson(argumentsFor(changed, choice), argumentChanges[index] ?? []), times)),
    )
    return { parameters: changed, argumentLists }
  })

/** With each list so many times as long, up to where the service itself no longer checks it. */
function longer(value: JsonValue, times: number): JsonValue {
  if (times === 1 || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const list = value as readonly JsonValue[]
    return Array.from(
      { length: Math.min(2_000, list.length * times) },
      (_, index) => list[index % list.length] ?? null,
    )
  }
  return Object.fromEntries(
    Object.entries<JsonValue>(value).map(([name, below]) => [name, longer(below, times)]),
  )
}

function objectOf(value: JsonValue): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : { a: value }
}
