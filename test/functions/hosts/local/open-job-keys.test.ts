import { expect, test } from '@jest/globals'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJobKeys } from '../../../../functions/src/hosts/local/key-files.ts'
import { ecKey, jobKeysText } from '../../../support/signed-tokens.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

test('the first start makes a key that only its owner may read, the second uses it', () => {
  using folder = temporaryFolder()
  const keys = openJobKeys(folder.path)
  expect(statSync(join(folder.path, 'job-keys.json')).mode & 0o777).toBe(0o600)
  expect(openJobKeys(folder.path)).toEqual(keys)
})

test('keys that an operator has rotated are used in their order', () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'job-keys.json'), jobKeysText(ecKey('new'), ecKey('old')))
  expect(openJobKeys(folder.path).map(({ kid }) => kid)).toEqual(['new', 'old'])
})

test('a file that holds no keys is an error, and is left as it is', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'job-keys.json')
  writeFileSync(path, '{"keys":[]}')
  expect(() => openJobKeys(folder.path)).toThrow(expect.objectContaining({ exitCode: 65 }))
  expect(readFileSync(path, 'utf8')).toBe('{"keys":[]}')
})

test('a file that can not be read is an error that says why', () => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'job-keys.json'))
  expect(() => openJobKeys(folder.path)).toThrow(
    expect.objectContaining({ exitCode: 73, message: expect.stringContaining('EISDIR') }),
  )
})
