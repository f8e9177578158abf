import { expect, test } from '@jest/globals'
import { parseNameEntry, parseNameFilter } from '@toolrack/contract'
import type { NameFilter, NameFilterFault } from '@toolrack/contract'
import fc from 'fast-check'
import { vectors } from '../support/vectors.ts'

type Expected = { readonly all: true } | { readonly names: readonly string[] } | { readonly fault: true }

test.each(vectors<readonly string[], Expected>('name-filters'))(
  'name filter: $title',
  ({ input, expected }) => {
    expect(outcome(parseNameFilter(input))).toEqual(outcomeOf(expected))
  },
)

test.each(vectors<string, object>('name-entries'))('name entry: $title', ({ input, expected }) => {
  expect(parseNameEntry(input)).toEqual(expected)
})

const names = fc.array(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.:-]{0,20}$/), { minLength: 1, maxLength: 60 })
const filler = fc.array(fc.constantFrom('', ' ', '  '), { maxLength: 4 })

test('order, blanks, commas and the way the names are spread over values never change a filter', () => {
  fc.assert(
    fc.property(names, filler, fc.nat(), (found, blanks, cut) => {
      const at = cut % (found.length + 1)
      const expected = outcome(parseNameFilter([found.join(',')]))
      expect(outcome(parseNameFilter([...found, ...blanks]))).toEqual(expected)
      expect(outcome(parseNameFilter([[...blanks, ...found.toReversed()].join(' , ')]))).toEqual(expected)
      expect(outcome(parseNameFilter([JSON.stringify(found)]))).toEqual(expected)
      expect(outcome(parseNameFilter([JSON.stringify(found.slice(at)), found.slice(0, at).join()]))).toEqual(
        expected,
      )
    }),
  )
})

test('a fault never repeats what was sent', () => {
  const faults = [
    ['["SECRET'],
    ['[SECRET]'],
    [Array.from({ length: 201 }, (_, n) => `SECRET${n}`).join()],
  ].map(parseNameFilter)
  expect(faults.map((found) => outcome(found).kind)).toEqual(['fault', 'fault', 'fault'])
  expect(JSON.stringify(faults)).not.toContain('SECRET')
})

test('any values at all give a filter or a fault', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), (values) => {
      expect(['all', 'names', 'fault']).toContain(outcome(parseNameFilter(values)).kind)
    }),
  )
})

type Outcome =
  { readonly kind: 'all' | 'fault' } | { readonly kind: 'names'; readonly names: readonly string[] }

function outcome(parsed: NameFilter | NameFilterFault): Outcome {
  if (parsed === 'all') return { kind: 'all' }
  return 'fault' in parsed ? { kind: 'fault' } : { kind: 'names', names: [...parsed].toSorted() }
}

function outcomeOf(expected: Expected): Outcome {
  if ('all' in expected) return { kind: 'all' }
  return 'fault' in expected ? { kind: 'fault' } : { kind: 'names', names: expected.names.toSorted() }
}
