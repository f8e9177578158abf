import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { absentPlatformPackages } from '../../scripts/toolchain/platform-packages.mjs'

const here = { optional: true, os: [process.platform], cpu: [process.arch] }

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolrack-platform-'))
  const packages = {
    'node_modules/here': here,
    'node_modules/here-for-development': { ...here, dev: true },
    'node_modules/elsewhere': { ...here, os: ['sunos'] },
    'node_modules/not-here': { optional: true, os: `!${process.platform}` },
    'node_modules/another-libc': { ...here, libc: ['uclibc'] },
    'node_modules/anywhere': { optional: true },
  }
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }))
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

test('a binary for this machine that npm left out is found; those of other machines are not missed', () => {
  expect(absentPlatformPackages(root, { withDev: false })).toEqual(['node_modules/here'])
  expect(absentPlatformPackages(root, { withDev: true })).toEqual([
    'node_modules/here',
    'node_modules/here-for-development',
  ])
})

test('nothing is absent once it is installed', () => {
  mkdirSync(join(root, 'node_modules/here'), { recursive: true })
  writeFileSync(join(root, 'node_modules/here/package.json'), '{}')
  expect(absentPlatformPackages(root, { withDev: false })).toEqual([])
})
