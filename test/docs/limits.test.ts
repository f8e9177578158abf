import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { limitsInCode } from '../support/limits-in-code.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The rows of the last section of docs/limits.md: `folder/file.ts` `NAME` | value | … */
function documented(): [string, number][] {
  const [, section = ''] = readFileSync(`${ROOT}/docs/limits.md`, 'utf8').split('## Every limit in the code')
  const found = section.matchAll(/^\| `([^`]+)` \| ([\d,.]+)[^|]*\|/gm)
  return Array.from(found, ([, name = '', value = '']) => [name, Number(value.replaceAll(',', ''))])
}

test('docs/limits.md has a row with the value of each limit in the code, and no other', () => {
  const limits = limitsInCode(ROOT)
  expect(limits.length).toBeGreaterThan(80)
  expect(documented().toSorted()).toEqual(limits.toSorted())
})

test('each row of docs/limits.md says why', () => {
  const [, section = ''] = readFileSync(`${ROOT}/docs/limits.md`, 'utf8').split('## Every limit in the code')
  const withoutReason = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .filter((line) => (line.split('|').at(-2) ?? '').trim() === '')
  expect(withoutReason).toEqual([])
})
