import { expect, test } from '@jest/globals'
import { ERROR_CODES } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { constantsInCode, limitsInCode, limitsWithoutComment } from '../support/limits-in-code.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const UNITS: Readonly<Record<string, number>> = { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, min: 60, h: 3_600 }

/** The rows of the page: its constant, and how much that is in the unit of the constant. */
function documented(): [string, number][] {
  const rows = readFileSync(`${ROOT}/docs/reference/limits.md`, 'utf8').matchAll(
    /^\|[^|]+\| ([\d,]+) ?(\w+)?[^|]*\|[^|]+\| `([^`]+)` \|$/gm,
  )
  return Array.from(rows, ([, digits = '', unit = '', constant = '']) => {
    const number = Number(digits.replaceAll(',', ''))
    if (/_MB\b/.test(constant)) return [constant, number]
    if (/_MS(?:_MAX)?$/.test(constant))
      return [constant, number * 1_000 * (unit === 'days' ? 86_400 : (UNITS[unit] ?? 1))]
    return [constant, number * (UNITS[unit] ?? 1)]
  })
}

test('docs/reference/limits.md has in each row the value of a constant in the code', () => {
  const rows = readFileSync(`${ROOT}/docs/reference/limits.md`, 'utf8').match(/^\| (?!what \|).*$/gm) ?? []
  const limits = documented()
  expect(limits.length).toBeGreaterThan(60)
  expect(limits.length).toBe(rows.length)
  const known = constantsInCode(ROOT)
  expect(limits).toEqual(limits.map(([name]) => [name, known.get(name)]))
})

test('docs/reference/limits.md names only error codes that there are', () => {
  const page = readFileSync(`${ROOT}/docs/reference/limits.md`, 'utf8')
  const codes = Array.from(page.matchAll(/^\|[^|]+\|[^|]+\| ([^|]+) \|/gm), ([, answer = '']) =>
    Array.from(answer.matchAll(/`(\w+)`/g), ([, code = '']) => code),
  ).flat()
  expect(codes.length).toBeGreaterThan(50)
  expect(codes.filter((code) => !Object.hasOwn(ERROR_CODES, code))).toEqual([])
})

test('docs/reference/limits.md names each limit that a variable sets', () => {
  const page = readFileSync(`${ROOT}/docs/reference/limits.md`, 'utf8')
  const set = page.match(/TOOLRACK_\w+(?:_MB|_DAYS|_SECONDS|_SLOTS)\b/g)
  const configuration = readFileSync(`${ROOT}/docs/reference/configuration.md`, 'utf8')
  const variables = configuration.match(/TOOLRACK_\w+(?:_MB|_DAYS|_SECONDS|_SLOTS)\b/g)
  expect(new Set(set)).toEqual(new Set(variables))
})

test('each limit in the code has a comment above or beside it', () => {
  expect(limitsInCode(ROOT).length).toBeGreaterThan(300)
  expect(limitsWithoutComment(ROOT)).toEqual([])
})
