import { expect, test } from '@jest/globals'
import { existsSync } from 'node:fs'
import { deepSuites, packageSuites } from '../../scripts/toolchain/deep-suites.mjs'
import { ROOT } from '../support/source-tree.ts'

test('every suite that npm test leaves out is there', () => {
  const listed = [...deepSuites, ...packageSuites]
  expect(listed.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([])
  expect(new Set(listed).size).toBe(listed.length)
})
