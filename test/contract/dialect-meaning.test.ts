import { expect, test } from '@jest/globals'
import { completeParameters, dialectRules, dropOmittedArguments, inDialect } from '@toolrack/contract'
import type { Dialect, JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import type { AnySchema, ValidateFunction } from 'ajv'
import fc from 'fast-check'
import { anonymous, draftOf, newAjv } from '../../functions/src/catalog/schemas/schema-draft.ts'

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'
const KEYS = ['a', 'b', 'c'] as const

/** Schemas of either draft, of the keywords that some dialect rewrites or refuses. */
function schemas(isDraft07: boolean): fc.Arbitrary<JsonObject> {
  const leaf = fc.constantFrom<JsonValue>(
    { type: 'string' },
    { type: 'integer', minimum: 0 },
    { type: ['string', 'null'], default: null },
    { type: 'boolean', description: 'B.', default: true },
    { type: 'string', enum: ['x', 'y'] },
    { type: 'string', const: 'x' },
    { type: 'array' },
    { $ref: '#/definitions/text' },
    { $ref: '#/definitions/text', description: 'T.', maxLength: 1 },
    { $ref: '#/definitions/pair', required: ['b'] },
    {},
    true,
    false,
  )
  const { node } = fc.letrec<{ node: JsonValue; object: JsonObject }>((tie) => ({
    object: fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom(...KEYS), tie('node'), { maxKeys: 3 }),
        required: fc.subarray([...KEYS]),
        additionalProperties: fc.constantFrom(true, false),
        ...(isDraft07 && { dependencies: fc.constant({ a: ['b'], c: { required: ['a'] } }) }),
      },
      { requiredKeys: ['type'] },
    ) as fc.Arbitrary<JsonObject>,
    node: fc.oneof(
      { maxDepth: 3 },
      leaf,
      tie('object'),
      fc.record({ type: fc.constant('array'), items: tie('node') }),
      fc.record({ anyOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }),
      ...(isDraft07
        ? [
            fc.record({
              type: fc.constant('array'),
              items: fc.array(tie('node'), { minLength: 1, maxLength: 2 }),
              additionalItems: tie('node'),
            }),
          ]
        : [
            fc.record({
              type: fc.constant('array'),
              prefixItems: fc.array(tie('node'), { minLength: 1, maxLength: 2 }),
            }),
          ]),
    ) as fc.Arbitrary<JsonValue>,
  }))
  return fc
    .record({ properties: fc.dictionary(fc.constantFrom(...KEYS), node), required: fc.subarray([...KEYS]) })
    .map(({ properties, required }) => ({
      ...(isDraft07 && { $schema: DRAFT_07 }),
      type: 'object',
      properties,
      required,
      definitions: {
        text: { type: 'string', minLength: 1 },
        pair: { type: 'object', properties: { a: { type: 'string' }, b: { $ref: '#/definitions/text' } } },
      },
    }))
}

const { values } = fc.letrec<{ values: JsonValue }>((tie) => ({
  values: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(null, true, 0, -1, '', 'x', 'yy'),
    fc.dictionary(fc.constantFrom(...KEYS), tie('values'), { maxKeys: 3 }),
    fc.array(tie('values'), { maxLength: 2 }),
  ),
}))
const manyArguments = fc.array(fc.dictionary(fc.constantFrom(...KEYS), values), {
  minLength: 20,
  maxLength: 20,
})

const instances = { 'draft-07': newAjv('draft-07'), '2020-12': newAjv('2020-12') }

function validator(schema: JsonObject): ValidateFunction {
  const ajv = instances[draftOf(schema) ?? '2020-12']
  const compiled = anonymous(schema) as AnySchema
  const validate = ajv.compile(compiled)
  ajv.removeSchema(compiled)
  return validate
}

function parametersIn(dialect: Dialect, parameters: JsonObject): JsonObject | undefined {
  const definition: ToolDefinition = {
    type: 'function',
    function: { name: 'a', description: '', parameters },
  }
  const converted = inDialect(definition, dialectRules(dialect))
  if (!('item' in converted)) return undefined
  const { item } = converted
  if ('input_schema' in item) return item.input_schema
  if ('inputSchema' in item) return item.inputSchema
  if ('parametersJsonSchema' in item) return item.parametersJsonSchema
  return 'function' in item ? item.function.parameters : item.parameters
}

const written = fc.boolean().chain(schemas)

test.each(['openai', 'openai-responses', 'anthropic', 'gemini', 'mcp'] as const)(
  'in %s a schema admits what it admitted, and nothing else, however it is rewritten',
  (dialect) => {
    let converted = 0
    fc.assert(
      fc.property(written, manyArguments, (parameters, samples) => {
        const rewritten = parametersIn(dialect, parameters)
        if (!rewritten) return
        converted += 1
        const [before, after] = [validator(completeParameters(parameters)), validator(rewritten)]
        for (const args of samples) expect([args, after(args)]).toEqual([args, before(args)])
      }),
    )
    expect(converted).toBeGreaterThan(20)
  },
)

test('what a strict model may send is, without its nulls, what the tool takes', () => {
  let admitted = 0
  fc.assert(
    fc.property(written, manyArguments, (parameters, samples) => {
      const converted = inDialect(
        { type: 'function', function: { name: 'a', description: '', parameters } },
        dialectRules('openai-strict'),
      )
      if (!('item' in converted) || converted.item.function.strict !== true) return
      const [before, after] = [
        validator(completeParameters(parameters)),
        validator(converted.item.function.parameters),
      ]
      for (const sample of samples) {
        const args = filled(sample, converted.item.function.parameters)
        if (!after(args)) continue
        admitted += 1
        const given = dropOmittedArguments(parameters, args)
        expect([parameters, given, before(given)]).toEqual([parameters, given, true])
      }
    }),
    { numRuns: 1_000 },
  )
  expect(admitted).toBeGreaterThan(50)
})

/** With null for each parameter that is not given, as a strict model writes it. */
function filled(args: JsonObject, { properties = {} }: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(properties as JsonObject).map((name) => [name, args[name] ?? null]))
}
