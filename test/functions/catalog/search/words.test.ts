import { expect, test } from '@jest/globals'
import { splitWords } from '../../../../functions/src/catalog/search/words.ts'

test('words are split in time that is linear in marks that are out of order', () => {
  const before = process.cpuUsage()
  const text = `Caf\u00e9 e${'\u0301'.repeat(60_000)}${'\u0323'.repeat(60_000)}t \u0915\u094b`
  expect(splitWords(text)).toEqual(['cafe', 'et', '\u0915'])
  // Otherwise it is many seconds.
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000)
})
