import { expect, test } from '@jest/globals'
import { completeParameters, listedTool } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'
import { vectors } from '../support/vectors.ts'

test.each(vectors<JsonObject, JsonObject>('parameters'))('parameters: $title', ({ input, expected }) => {
  expect(JSON.stringify(completeParameters(input))).toBe(JSON.stringify(expected))
})

test("completing parameters twice changes nothing, and the author's object stays as it was", () => {
  const parameters = Object.freeze({ properties: Object.freeze({}) })
  const once = completeParameters(parameters)
  expect(completeParameters(once)).toEqual(once)
  expect(parameters).toEqual({ properties: {} })
})

test('a listed tool holds what a model reads, and nothing of how it runs', () => {
  const listed = listedTool({
    type: 'function',
    function: { name: 'a', description: 'b', parameters: {} },
    runner: { kind: 'python' },
    tags: ['t'],
    category: 'c',
    annotations: { title: 'T' },
    limits: { timeoutSeconds: 1 },
    sealed: true,
  })
  const parameters = { type: 'object', properties: {}, required: [] }
  expect(listed).toEqual({ type: 'function', function: { name: 'a', description: 'b', parameters } })
})
