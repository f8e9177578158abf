import { expect, test } from '@jest/globals'
import { linesOf } from '../../../functions/src/json/json-lines.ts'

test('each value has the line of its key, or its own in a list', () => {
  const text = `{
  "a": 1, "b/c": {"d":
    [true,
     "x \\" ] , { \\n", {"e": null}
    ]},
  "f": "y"
}`
  expect(Object.fromEntries(linesOf(text))).toEqual({
    '': 1,
    '/a': 2,
    '/b~1c': 2,
    '/b~1c/d': 2,
    '/b~1c/d/0': 3,
    '/b~1c/d/1': 4,
    '/b~1c/d/2': 4,
    '/b~1c/d/2/e': 4,
    '/f': 6,
  })
})

test('a text that is one value is one line', () => {
  expect([...linesOf('\n 12')]).toEqual([['', 2]])
})
