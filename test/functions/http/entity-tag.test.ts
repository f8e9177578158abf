import { expect, test } from '@jest/globals'
import { isNotModified, preconditionOf } from '../../../functions/src/http/entity-tag.ts'

const set = (...tags: string[]): Set<string> => new Set(tags)

test.each([
  ['"a"', set('a')],
  ['"sha256:00"', set('sha256:00')],
  ['W/"a"', set('a')],
  ['"a", "b"', set('a', 'b')],
  [' "a" ,W/"b","a" ', set('a', 'b')],
  ['""', set('')],
  ['"a,b"', set('a,b')],
  ['*', '*'],
  [' * ', '*'],
])('the tags of %j are read', (header, tags) => {
  expect(preconditionOf({ 'if-match': header })).toEqual({ ifMatch: tags })
  expect(preconditionOf({ 'if-none-match': header })).toEqual({ ifNoneMatch: tags })
})

test('without headers there is no precondition', () => {
  expect(preconditionOf({})).toEqual({})
})

test('both preconditions are kept', () => {
  expect(preconditionOf({ 'if-match': '"a"', 'if-none-match': '*' })).toEqual({
    ifMatch: set('a'),
    ifNoneMatch: '*',
  })
})

const UNREADABLE = ['', 'a', '"a', 'a"', '"a" "b"', '"a",', ',"a"', '*, "a"', 'w/"a"', "'a'", '"a"; "b"']
test.each([...UNREADABLE, 'sha256:00', 'W/', '""x', ','])(
  'a precondition that can not be read is refused, never ignored: %j',
  (header) => {
    const fault = 'must be * or quoted entity tags, such as "sha256:…".'
    expect(() => preconditionOf({ 'if-match': header })).toThrow(`If-Match ${fault}`)
    expect(() => preconditionOf({ 'if-none-match': header })).toThrow(`If-None-Match ${fault}`)
  },
)

test.each(['"a"', 'W/"a"', '"x", "a"', ' W/"x" , W/"a" ', '*', ' *'])(
  'a reader with %j has "a" already',
  (header) => {
    expect(isNotModified(header, '"a"')).toBe(true)
  },
)

const OTHERS = [undefined, '', 'a', '"b"', '"A"', '"a', '"aa"', '"b", a', 'w/"a"', '"a" "b"', '"b*"']
test.each([...OTHERS, 'W/', '"', '""', 'nonsense, *'])('a reader with %j does not have "a"', (header) => {
  expect(isNotModified(header, '"a"')).toBe(false)
})

test('a header of 16,000 unfinished tags is answered', () => {
  const header = `${'"a" , '.repeat(16_000)}"`
  expect(isNotModified(header, '"b"')).toBe(false)
  expect(() => preconditionOf({ 'if-match': `${' '.repeat(50_000)}x` })).toThrow(/If-Match/)
})
