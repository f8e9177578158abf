import { expect, test } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { VECTORS_FOLDER, vectors } from '../support/vectors.ts'

const files = readdirSync(VECTORS_FOLDER).map((name) => name.replace(/\.json$/, ''))
const tests = readdirSync(new URL('.', import.meta.url))
  .filter((name) => name.endsWith('.test.ts') && name !== 'vectors.test.ts')
  .map((name) => readFileSync(new URL(name, import.meta.url), 'utf8'))

test.each(files)('the cases of %s.json are run', (file) => {
  expect(tests.filter((text) => text.includes(`('${file}')`))).not.toEqual([])
})

test.each(files)(
  '%s.json says what it holds, and each case has a title of its own, an input and an expectation',
  (file) => {
    const { description } = JSON.parse(readFileSync(new URL(`${file}.json`, VECTORS_FOLDER), 'utf8')) as {
      description: unknown
    }
    expect(description).toMatch(/\w{3}/)
    const cases = vectors(file)
    expect(cases.length).toBeGreaterThan(5)
    expect(cases.filter((found) => found.input === undefined || found.expected === undefined)).toEqual([])
    expect(new Set(cases.map(({ title }) => title)).size).toBe(cases.length)
  },
)
