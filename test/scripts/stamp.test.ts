import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { fingerprint } from '../../scripts/toolchain/install.mjs'
import { manifestPaths } from '../../scripts/toolchain/npm.mjs'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolrack-stamp-'))
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

test('the manifests of a checkout are its lock, its own manifest and those of all its workspaces, in one order', () => {
  for (const folder of ['packages/b', 'packages/a', 'functions'])
    mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'package.json'), '{"workspaces":["packages/*","functions"]}')
  expect(manifestPaths(root)).toEqual(
    [
      'package-lock.json',
      'package.json',
      'packages/a/package.json',
      'packages/b/package.json',
      'functions/package.json',
    ].map((path) => join(root, path)),
  )
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
