import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { VERSION } from '../../functions/src/version.ts'
import { ROOT } from '../support/source-tree.ts'

test.each([
  'package.json',
  'functions/package.json',
  'packages/contract/package.json',
  'packages/client/package.json',
])('%s has the version that the service tells', (path) => {
  const { version } = JSON.parse(readFileSync(new URL(path, ROOT), 'utf8')) as { version: unknown }
  expect(version).toBe(VERSION)
})

test.each([
  ['python-runner/pyproject.toml', /^version = "(.+)"$/m],
  ['python-runner/toolrack_runner/version.py', /^VERSION(?:: \S+)? = "(.+)"$/m],
])('%s has the version that the service tells', (path, pattern) => {
  const [, version] = pattern.exec(readFileSync(new URL(path, ROOT), 'utf8')) ?? []
  expect(version).toBe(VERSION)
})

test('the newest entry of the changelog is the version that the service tells', () => {
  const changelog = readFileSync(new URL('CHANGELOG.md', ROOT), 'utf8')
  const [, newest] = /^## \[?(\d+\.\d+\.\d+)/m.exec(changelog) ?? []
  expect(newest).toBe(VERSION)
})
