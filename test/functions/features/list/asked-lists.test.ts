import { expect, test } from '@jest/globals'
import { AskedLists } from '../../../../functions/src/features/list/asked-lists.ts'

const asked = new AskedLists({ envelope: 'array' })

test('a query is read once, and means the same for every path', () => {
  const first = asked.read('names=a&scope=@web')
  expect(asked.read('names=a&scope=@web')).toBe(first)
  const { query, narrowing } = asked.read('names=a&scope=@web', 'talk')
  expect(query).toBe(first.query)
  expect(narrowing).toEqual({ session: 'talk', scopes: first.narrowing?.scopes })
  expect(asked.read('names=a&scope=@web')).toBe(first)
})

test('a query with a fault is refused each time', () => {
  for (let times = 0; times < 2; times += 1) {
    expect(() => asked.read('nmaes=a')).toThrow(/nmaes/)
    expect(() => asked.read('session=one', 'talk')).toThrow(/is named by the path already/)
  }
})
