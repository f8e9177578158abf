import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { LongWork } from '../../../../functions/src/loop-turn.ts'
import { countInTurns } from '../../../../functions/src/tools/tokens/count-in-turns.ts'
import { tokenCounter } from '../../../../functions/src/tools/tokens/token-counter.ts'

const count = await tokenCounter()
const DOCS = ['docs/api.md', 'CHANGELOG.md', 'package-lock.json'].map((path) =>
  readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8').slice(0, 200_000),
)

/** Work that always gives a turn. */
class Counted extends LongWork {
  turns = 0
  override get isLong(): boolean {
    return true
  }
  override giveTurn(): Promise<void> {
    this.turns += 1
    return Promise.resolve()
  }
}

test.each(DOCS)('a long text has as many tokens in turns as at once', async (text) => {
  expect(await countInTurns(text, count)).toBe(count(text))
})

test.each(['a', '\n', '.', ' ', '日', 'a\u0301'])(
  'one word of many times %j is counted in short turns, and has as many tokens as at once',
  async (piece) => {
    const word = piece.repeat(20_000)
    const work = new Counted()
    expect(await countInTurns(word, count, work)).toBe(count(word))
    expect(work.turns).toBeGreaterThan(4)
  },
)
