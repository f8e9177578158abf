import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { Turns } from '../../../../functions/src/loop-turn.ts'
import { tokenCounter } from '../../../../functions/src/catalog/tokens/token-counter.ts'
import { turnsDuring } from '../../../support/turns-during.ts'

const count = await tokenCounter()
const DOCS = ['docs/reference/http.md', 'CHANGELOG.md', 'package-lock.json'].map((path) =>
  readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8').slice(0, 200_000),
)

test.each(DOCS)('a long text has as many tokens in turns as at once', async (text) => {
  expect(await new Turns().run(count.steps(text))).toBe(count(text))
})

test.each(['a', '\n', '.', ' ', '日', 'a\u0301'])(
  'one word of many times %j is counted in short pieces, and has as many tokens as at once',
  async (piece) => {
    const word = piece.repeat(20_000)
    const afterEach = new Turns(undefined, -1)
    const { result, turns } = await turnsDuring(() => afterEach.run(count.steps(word)))
    expect(result).toBe(count(word))
    expect(turns).toBeGreaterThan(4)
  },
)
