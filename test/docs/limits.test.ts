import { expect, test } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { limitsInCode } from '../support/limits-in-code.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The rows of docs/limits.md and of the pages of features: `folder/file.ts NAME` | value | … | why | */
function lines(): readonly string[] {
  const pages = readdirSync(`${ROOT}/docs`).filter((name) => name.endsWith('.md'))
  const sections = pages.flatMap((name) =>
    readFileSync(`${ROOT}/docs/${name}`, 'utf8')
      .split(/^## /m)
      .filter((section) => /^(?:Every limit|Limits) in the code\n/.test(section)),
  )
  return sections.join('\n').split('\n')
}

function documented(): [string, number][] {
  const found = lines()
    .join('\n')
    .matchAll(/^\| `([^`]+)` \| ([\d,.]+)[^|]*\|/gm)
  return Array.from(found, ([, name = '', value = '']) => [name, Number(value.replaceAll(',', ''))])
}

test('the pages have a row with the value of each limit in the code, and no other', () => {
  const limits = limitsInCode(ROOT)
  expect(limits.length).toBeGreaterThan(80)
  expect(documented().toSorted()).toEqual(limits.toSorted())
})

test('each row of a limit says why', () => {
  const withoutReason = lines()
    .filter((line) => line.startsWith('| `'))
    .filter((line) => (line.split('|').at(-2) ?? '').trim() === '')
  expect(withoutReason).toEqual([])
})
