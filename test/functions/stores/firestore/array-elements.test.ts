import { expect, test } from '@jest/globals'
import { ArrayElements } from '../../../../functions/src/stores/firestore/array-elements.ts'

const OBJECTS = [
  { a: 1 },
  {},
  { text: 'quotes " and \\" and brackets ]}[{ and ü \u2028 \ud83d\ude00' },
  { deep: [[{ list: [] }], { '}': '\\' }] },
]

/** The objects as they come from a text in pieces of so many bytes. */
function readIn(bytes: number, text: string): { objects: unknown[]; isComplete: boolean } {
  const elements = new ArrayElements()
  const all = Buffer.from(text)
  const objects: unknown[] = []
  for (let at = 0; at < all.length; at += bytes) objects.push(...elements.push(all.subarray(at, at + bytes)))
  return { objects, isComplete: elements.isComplete }
}

test.each([1, 2, 3, 7, 64, 10_000])(
  'the objects of an array come out whole from pieces of %i bytes',
  (bytes) => {
    for (const space of [undefined, 1])
      expect(readIn(bytes, `\n${JSON.stringify(OBJECTS, null, space)}\n`)).toEqual({
        objects: OBJECTS,
        isComplete: true,
      })
  },
)

test('an object comes with its last byte, before the array has ended', () => {
  const elements = new ArrayElements()
  expect(elements.push(Buffer.from('[{"a":1'))).toEqual([])
  expect(elements.push(Buffer.from('}'))).toEqual([{ a: 1 }])
  expect(elements.isComplete).toBe(false)
})

test('an empty array is complete, and one that was cut off is not', () => {
  expect(readIn(1, '[]')).toEqual({ objects: [], isComplete: true })
  for (const cut of ['', '[', '[{"a":1}', '[{"a":1},{"b"'])
    expect([cut, readIn(4, cut).isComplete]).toEqual([cut, false])
})

test('anything but an array is refused', () => {
  expect(() => readIn(8, '{"error":{"code":1}}')).toThrow('not an array')
})

test('an object that never ends is not kept for ever', () => {
  const elements = new ArrayElements()
  elements.push(Buffer.from('[{"a":"'))
  const megabyte = Buffer.alloc(1024 * 1024, 'x')
  expect(() => {
    for (let count = 0; count < 17; count += 1) elements.push(megabyte)
  }).toThrow('too large')
})
