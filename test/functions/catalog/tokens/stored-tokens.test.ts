import { describe, expect, test } from '@jest/globals'
import { listedTool } from '@toolrack/contract'
import { atOnce, Turns } from '../../../../functions/src/loop-turn.ts'
import { DialectFragments } from '../../../../functions/src/catalog/views/dialect-fragments.ts'
import { LevelFragments } from '../../../../functions/src/catalog/views/level-fragments.ts'
import { withTokens } from '../../../../functions/src/catalog/definitions/count-puts.ts'
import { fragmentEnd } from '../../../../functions/src/catalog/tokens/joined-tokens.ts'
import { atLevel } from '../../../../functions/src/catalog/tokens/detail-levels.ts'
import { readTokens, storedTokens } from '../../../../functions/src/catalog/tokens/stored-tokens.ts'
import { tokenCounter } from '../../../../functions/src/catalog/tokens/token-counter.ts'
import { catalogEntry } from '../../../../functions/src/catalog/views/catalog-entry.ts'
import { put, remove, tool } from '../../../support/definition-changes.ts'

const count = await tokenCounter()
const definition = tool('a', 'One sentence. And another one.')
const kept = atOnce(storedTokens(definition, count))

test('what is stored is what each level takes', () => {
  const tokens = readTokens(kept)
  for (const level of ['full', 'short', 'deferred'] as const)
    expect(tokens?.[level]).toBe(count(fragmentEnd(JSON.stringify(listedTool(atLevel(definition, level))))))
})

test.each([
  undefined,
  null,
  '',
  'o200k/0 1 2 3',
  'o200k/1 1 2',
  'o200k/1 1 2 x',
  'o200k/1 1 2 -3',
  'o200k/1 1 2 3 4',
])('the text %j is no count of this version, so the definition is counted again', (text) =>
  expect(readTokens(text)).toBeUndefined(),
)

const sizesOf = (tokens: string | undefined) => {
  const entry = catalogEntry({ ...put(definition), revision: 'r', tokens }, 'user')
  return atOnce(new LevelFragments(new DialectFragments()).measured(entry, undefined, count))
}

describe('a list uses', () => {
  test('what is stored, if this version has counted it', () => {
    expect(sizesOf('o200k/1 70 60 50')).toMatchObject({ full: { tokens: 70 }, deferred: { tokens: 50 } })
    expect(sizesOf('o200k/0 70 60 50')).toEqual(sizesOf(undefined))
    expect(sizesOf(kept)).toEqual(sizesOf(undefined))
  })
})

test('definitions are counted when they are written, except deletions and very long ones', async () => {
  const long = put(tool('b', 'x'.repeat(70_000)))
  const changes = [put(definition), long, remove('c')]
  const counted = await withTokens(changes, new Turns())
  expect(counted).toEqual([{ ...put(definition), tokens: kept }, long, remove('c')])
})
