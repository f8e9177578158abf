import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { lockFileProblems } from '../../scripts/toolchain/lock-files.mjs'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolrack-locks-'))
  write('package.json', { name: 'root', workspaces: ['functions'], devDependencies: { tsc: '7.0.2' } })
  write('package-lock.json', {
    packages: { '': { devDependencies: { tsc: '7.0.2' } }, functions: { dependencies: { zod: '4.6.7' } } },
  })
  write('functions/package.json', { name: 'functions', dependencies: { zod: '4.6.7' } })
  writeDeployLock({})
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path: string, content: object): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), JSON.stringify(content))
}

function writeDeployLock(packages: object): void {
  write('functions/package-lock.json', {
    packages: {
      '': { dependencies: { zod: '4.6.7' } },
      'node_modules/zod': { version: '4.6.7' },
      ...packages,
    },
  })
}

test('locks that say what the manifests say are fine', () => {
  expect(lockFileProblems(root)).toEqual([])
})

test('a dependency that was added or dropped without its locks is found in both', () => {
  write('functions/package.json', { name: 'functions', dependencies: { ajv: '8.20.0' } })
  const problems = lockFileProblems(root)
  expect(problems.filter((problem) => problem.startsWith('package-lock.json'))).toHaveLength(2)
  expect(problems.filter((problem) => problem.startsWith('functions/'))).toHaveLength(3)
})

test('a deploy lock that installs another version, or a package of ours, is refused', () => {
  writeDeployLock({ 'node_modules/zod': { version: '4.6.8' } })
  expect(lockFileProblems(root)).toEqual([expect.stringContaining('zod is not installed as 4.6.7')])
  writeDeployLock({ 'node_modules/@toolrack/contract': { version: '1.0.0' } })
  expect(lockFileProblems(root)).toEqual([expect.stringContaining('no package of the registry')])
})
