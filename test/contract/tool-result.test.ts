import { expect, test } from '@jest/globals'
import { toolFailure, toolResult } from '@toolrack/contract'
import { vectors } from '../support/vectors.ts'

type Expected =
  | { readonly outcome: 'success'; readonly text: string; readonly value?: unknown }
  | { readonly outcome: 'failure'; readonly code: string }

const cases = vectors<unknown, Expected>('results')

/** The value that a case stands for: what JSON can't write is named in it. */
function returned(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input
  if (Array.isArray(input)) return input.map(returned)
  if ('$number' in input) return Number(input.$number)
  if ('$surrogate' in input) return `${String(input.$surrogate)}\uD800`
  if ('$function' in input) return () => 0
  if ('$cycle' in input) {
    const list: unknown[] = []
    list.push(list)
    return list
  }
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, returned(value)]))
}

test.each(cases)('result: $title', ({ input, expected }) => {
  const result = toolResult(returned(input))
  if (expected.outcome === 'failure') {
    expect(result).toMatchObject({ resultType: 'failure', code: expected.code })
    return
  }
  expect(result).toEqual({
    resultType: 'success',
    textResultForLlm: expected.text,
    ...('value' in expected && { data: expected.value }),
  })
})

test.each([
  [undefined, 'undefined'],
  [{ a: undefined }, "'a' of the result"],
  [{ rows: [Symbol('a')] }, 'symbol'],
  [{ mean: NaN }, "'mean' of the result is NaN"],
  [{ count: 1n }, 'BigInt'],
])('what JSON would drop in silence is named: case %#', (value, part) => {
  const result = toolResult(value)
  expect(result).toMatchObject({ code: 'RESULT_INVALID' })
  expect(result.textResultForLlm).toContain(part)
})

test('what a tool returns from toJSON is what the model reads', () => {
  expect(toolResult(new Date(0))).toMatchObject({ textResultForLlm: '"1970-01-01T00:00:00.000Z"' })
})

test('a failure gives the model its error as the text', () => {
  expect(toolFailure('TOOL_RAISED', 'KeyError: Bern')).toEqual({
    resultType: 'failure',
    textResultForLlm: 'KeyError: Bern',
    error: 'KeyError: Bern',
    code: 'TOOL_RAISED',
  })
})
