import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import fc from 'fast-check'
import { expandedWeight } from '../../../../functions/src/catalog/schemas/expanded-weight.ts'
import { doublingBomb } from '../../../support/schema-shapes.ts'

/** A leaf of so many values, and so many references to it. */
function fan(references: number, leafValues: number): JsonObject {
  const properties = Object.fromEntries(
    Array.from({ length: references }, (_, n) => [`p${n}`, { $ref: '#/$defs/leaf' }]),
  )
  const leaf = { enum: Array.from({ length: leafValues - 2 }, (_, n) => n) }
  return { $defs: { leaf }, properties }
}

/** The count by definition: every reference really written out. Exponential; only for small schemas. */
function writtenOut(root: JsonObject, value: unknown = root): number {
  if (typeof value !== 'object' || value === null) return 1
  const own = Object.values(value).reduce<number>((sum, child) => sum + writtenOut(root, child), 1)
  const ref = '$ref' in value && typeof value.$ref === 'string' ? value.$ref : undefined
  const target = ref
    ?.slice(2)
    .split('/')
    .reduce<unknown>((found, key) => (found as JsonObject)[key], root)
  return target === undefined ? own : own + writtenOut(root, target)
}

test('10,000 values with every $ref written out pass, and 10,001 do not', () => {
  const light = { ...fan(96, 101), title: 't', enum: [1, 2, 3, 4, 5, 6] }
  expect(writtenOut(light)).toBe(10_000)
  expect(expandedWeight(light).fault).toBeUndefined()
  const heavy = { ...light, enum: [1, 2, 3, 4, 5, 6, 7] }
  expect(writtenOut(heavy)).toBe(10_001)
  expect(expandedWeight(heavy).fault).toEqual({
    pointer: '',
    message: 'with every $ref written out the schema has more than 10000 values',
  })
})

test('what a list of names below dependentRequired costs is counted each time it is referred to', () => {
  const names = Array.from({ length: 300 }, (_, n) => `n${n}`)
  const schema = { ...fan(100, 3), $defs: { leaf: { dependentRequired: { a: names } } } }
  expect(expandedWeight(schema).fault?.message).toMatch(/more than 10000/)
})

test('a doubling bomb passes as long as it is small, and the smallest that is too large is refused', () => {
  expect(writtenOut(doublingBomb(8))).toBeLessThan(10_000)
  expect(expandedWeight(doublingBomb(8)).fault).toBeUndefined()
  expect(writtenOut(doublingBomb(9))).toBeGreaterThan(10_000)
  expect(expandedWeight(doublingBomb(9)).fault?.message).toMatch(/more than 10000/)
})

test('the verdict on any references without a cycle is that of writing them out', () => {
  const levels = fc.array(fc.array(fc.nat({ max: 20 }), { maxLength: 6 }), { minLength: 1, maxLength: 7 })
  fc.assert(
    fc.property(levels, fc.integer({ min: 1, max: 400 }), (references, leafValues) => {
      const definitions = references.map((targets, level) => {
        const allOf = targets.map((offset) => ({
          $ref: `#/$defs/d${Math.min(level + 1 + offset, references.length)}`,
        }))
        return [`d${level}`, { allOf }]
      })
      const leaf = { enum: Array.from({ length: leafValues }, (_, n) => n) }
      const schema = { $defs: { ...Object.fromEntries(definitions), [`d${references.length}`]: leaf } }
      expect(expandedWeight(schema).fault === undefined).toBe(writtenOut(schema) <= 10_000)
    }),
    { numRuns: 300 },
  )
})
