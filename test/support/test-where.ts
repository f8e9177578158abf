import { test } from '@jest/globals'
import { appendFileSync } from 'node:fs'

/**
 * Returns `test` if the machine can run the tests. If not, writes the sentence to the file in TOOLRACK_TEST_MISSING, and
 * the tests are skipped. With CI=true they fail.
 */
export function testWhere(
  isPossible: boolean,
  sentence: string,
): (title: string, run: () => Promise<void>) => void {
  if (isPossible) return (title, run) => test(title, run)
  const { TOOLRACK_TEST_MISSING: path, CI } = process.env
  if (path !== undefined && path !== '') appendFileSync(path, `${sentence}\n`)
  if (CI !== 'true') return (title, run) => test.skip(title, run)
  return (title) =>
    test(title, () => {
      throw new Error(sentence)
    })
}
