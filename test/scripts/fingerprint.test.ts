import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { fingerprint } from '../../scripts/toolchain/install.mjs'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolrack-stamp-'))
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

test('a fingerprint changes with any of its files, with one that appears, and with text that moves between them', () => {
  const paths = [join(root, 'one'), join(root, 'two')]
  const seen = new Set([fingerprint(paths)])
  for (const [one, two] of [
    ['ab', ''],
    ['a', 'b'],
    ['', 'ab'],
  ] as const) {
    writeFileSync(join(root, 'one'), one)
    writeFileSync(join(root, 'two'), two)
    seen.add(fingerprint(paths))
  }
  expect(seen.size).toBe(4)
  expect(fingerprint(paths)).toBe(fingerprint(paths))
})
