import { expect, test } from '@jest/globals'
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findJava, parseJavaMajor } from '../../scripts/toolchain/java.mjs'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.each([
  ['openjdk version "25.0.3" 2026-04-21 LTS', 25],
  ['openjdk version "21" 2023-09-19', 21],
  ['openjdk version "25-ea" 2025-09-16', 25],
  ['java version "1.8.0_412"', 8],
  ['java: command not found', 0],
])('%s is Java %i', (text, major) => {
  expect(parseJavaMajor(text)).toBe(major)
})

/** A JDK that only prints its version. */
function makeJava(folder: string, version: string): string {
  const bin = join(realpathSync(folder), version, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'java'), `#!/bin/sh\necho 'openjdk version "${version}"' >&2\n`)
  chmodSync(join(bin, 'java'), 0o755)
  return bin
}

test('JAVA_HOME is taken first, and passed over when it is too old', () => {
  using folder = temporaryFolder()
  const [old, current, newest] = ['17.0.15', '21.0.4', '25.0.3'].map((version) =>
    makeJava(folder.path, version),
  )
  expect(findJava({ env: { JAVA_HOME: join(current ?? '', '..'), PATH: newest } })).toBe(current)
  expect(findJava({ env: { JAVA_HOME: join(old ?? '', '..'), PATH: newest } })).toBe(newest)
})

test('a JDK of SDKMAN is found where PATH has none that is new enough', () => {
  using folder = temporaryFolder()
  const old = makeJava(folder.path, '17.0.15')
  const sdkman = join(folder.path, '.sdkman/candidates/java')
  mkdirSync(sdkman, { recursive: true })
  const found = makeJava(sdkman, '99.0.1')
  expect(findJava({ env: { PATH: old }, home: folder.path, system: folder.path })).toBe(found)
})

test('when there is none, one sentence says what is wanted and what there is', () => {
  using folder = temporaryFolder()
  const old = makeJava(folder.path, '17.0.15')
  const nowhere = join(folder.path, 'nowhere')
  const empty = { home: nowhere, system: nowhere }
  expect(() => findJava({ env: { PATH: old }, ...empty })).toThrow(
    'The Firestore emulator needs Java 21 or newer, and only Java 17 was found: install a JDK, or set JAVA_HOME to one.',
  )
  expect(() => findJava({ env: { PATH: '' }, ...empty })).toThrow(
    'needs Java 21 or newer, and no Java was found',
  )
})
