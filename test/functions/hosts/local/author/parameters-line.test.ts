import { expect, test } from '@jest/globals'
import { parametersLine } from '../../../../../functions/src/hosts/local/author/parameters-line.ts'

test('the parameters of a tool are one line: needed, optional and with defaults', () => {
  const parameters = {
    type: 'object',
    properties: {
      place: { type: 'string' },
      days: { type: 'integer', default: 1 },
      note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      mode: { enum: ['a', 'b'] },
      shape: { $ref: '#/$defs/Shape' },
      open: true,
    },
    required: ['place'],
    $defs: { Shape: { type: 'object' } },
  }
  expect(parametersLine(parameters)).toBe(
    'place: string, days: integer = 1, note?: string | null, mode?: "a" | "b", shape?: object, open?: any',
  )
})

test('a schema that leads back to itself, and a long default, do not make the line long', () => {
  const line = parametersLine({
    properties: { a: { $ref: '#/$defs/A' }, b: { type: 'string', default: 'x'.repeat(500) } },
    $defs: { A: { anyOf: [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/A' }] } },
  })
  expect(line.length).toBeLessThan(120)
  expect(line).toMatch(/^a\?: any, b: string = "x+…$/)
})
