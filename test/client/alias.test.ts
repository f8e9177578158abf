import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { aliasOf } from '../../packages/client/src/by-name.ts'
import { ByName } from '../../packages/client/src/by-name.ts'
import { ToolDefs } from '../../packages/client/src/index.ts'
import { vectors } from '../support/vectors.ts'

const cases = vectors<string, string>('aliases')

test.each(cases)("the platform's hash makes the same alias: $title", async ({ input, expected }) => {
  expect(await aliasOf(input)).toBe(expected)
})

test.each(cases)('what has a name is found by its alias: $title', async ({ input, expected }) => {
  const byName = new ByName(cases.map(({ input: name }) => [name, name]))
  expect(await byName.find(input)).toBe(input)
  expect(await byName.find(expected)).toBe(input)
})

test.each(vectors<ToolDefinition, string>('digests'))(
  "the platform's hash makes the same digest: $title",
  async ({ input, expected }) => {
    const defs = new ToolDefs({
      service: 'http://127.0.0.1:1',
      token: 't',
      deadlineMs: 50,
      fallback: [input],
    })
    const { name } = input.function
    const { tools } = await defs.list({ names: [`${name}@${expected}`] })
    expect(tools).toHaveLength(1)
  },
)

test.each([[['a_:b', 'a:_b']], [['a:_b', 'a_:b']]])(
  'the alias of several is that of the first in the order of their names: %j',
  async (names) => {
    const byName = new ByName(names.map((name) => [name, name]))
    expect(await byName.find('a___b')).toBe('a:_b')
  },
)

test('what only begins as an alias with a hash is no alias', async () => {
  const byName = new ByName([['a.b', 'a.b']])
  const alias = await aliasOf('a.b')
  for (const name of ['a_b', 'a_b_', `a_b_${'0'.repeat(8)}`, `${alias}0`, alias.slice(0, -1)])
    expect([name, await byName.find(name)]).toEqual([name, undefined])
})
