import { afterAll, expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { completeParameters, jsonPointer, subschemas } from '@toolrack/contract'
import { admitDefinition } from '../../../../functions/src/catalog/definitions/admit-definition.ts'
import type { AdmittedDefinition } from '../../../../functions/src/catalog/definitions/admit-definition.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { bfclDefinitions } from '../../../support/bfcl-definitions.ts'

const compilers = new SchemaCompilers({ deadlineMs: 60_000 })
afterAll(() => compilers.close())

async function admitAll(kind: Parameters<typeof bfclDefinitions>[0]): Promise<AdmittedDefinition[]> {
  const admissions = await Promise.all(
    bfclDefinitions(kind).map((sent) => admitDefinition(sent, compilers.own)),
  )
  expect(admissions.filter((admission) => 'faults' in admission)).toEqual([])
  return admissions.flatMap((admission) => ('faults' in admission ? [] : [admission]))
}

test('all 753 real definitions are admitted, nothing normalised, their parameters equal in value and key order', async () => {
  const sent = bfclDefinitions('definitions')
  const admitted = await admitAll('definitions')
  expect(admitted).toHaveLength(753)
  expect(admitted.flatMap(({ normalised, unenforced }) => [...normalised, ...unenforced])).toEqual([])
  const kept = admitted.map(({ definition }) => JSON.stringify(definition.function.parameters))
  expect(kept).toEqual(sent.map((one) => JSON.stringify(one.function.parameters)))
})

test('completing the parameters of a real definition adds nothing but type, properties and required, at the end', async () => {
  for (const { function: fn } of bfclDefinitions('definitions')) {
    const completed = Object.entries(completeParameters(fn.parameters))
    const own = Object.entries(fn.parameters)
    expect(completed.slice(0, own.length)).toEqual(own)
    expect(['type', 'properties', 'required']).toEqual(
      expect.arrayContaining(completed.slice(own.length).map(([key]) => key)),
    )
  }
})

test('all 753 as published are admitted, and each foreign type name is told', async () => {
  const admitted = await admitAll('definitions.raw')
  expect(admitted).toHaveLength(753)
  const tally: Record<string, number> = {}
  for (const { from, to } of admitted.flatMap(({ normalised }) => normalised)) {
    const key = JSON.stringify([from, to])
    tally[key] = (tally[key] ?? 0) + 1
  }
  expect(tally).toEqual({
    '["dict","object"]': 766,
    '["float","number"]': 235,
    '["tuple","array"]': 4,
    '["any",null]': 1,
  })
})

test("the types read out of those as published are the ones that the data's own conversion has", async () => {
  const admitted = await admitAll('definitions.raw')
  const converted = bfclDefinitions('definitions').map((one) => typesIn(one.function.parameters))
  expect(admitted.map(({ definition }) => typesIn(definition.function.parameters))).toEqual(converted)
})

test('the pointer of each change leads to the foreign name in what was sent', async () => {
  const sent = bfclDefinitions('definitions.raw')
  const admitted = await admitAll('definitions.raw')
  for (const [index, { normalised }] of admitted.entries()) {
    for (const { pointer, from } of normalised) expect(valueAt(sent[index], pointer)).toBe(from)
  }
})

/** The type at every schema, by pointer; the two sources differ in other keywords. */
function typesIn(schema: JsonObject, path: readonly (string | number)[] = []): string[] {
  const below = subschemas(schema).flatMap((child) => typesIn(child.schema, [...path, ...child.path]))
  return [`${jsonPointer(path)} ${JSON.stringify(schema['type'])}`, ...below].toSorted()
}

function valueAt(value: unknown, pointer: string): unknown {
  const keys = pointer.split('/').slice(1)
  return keys.reduce(
    (found, key) => (found as JsonObject)[key.replaceAll('~1', '/').replaceAll('~0', '~')],
    value,
  )
}
