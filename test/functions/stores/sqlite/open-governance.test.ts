import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OlderDatabaseError } from '../../../../functions/src/stores/sqlite/database-file.ts'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

test('what was committed is there after the next start, and an older file is refused and not touched', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const first = openGovernance(path)
  first.exec("INSERT INTO collection_sums VALUES ('notes', 7)")
  first.close()
  const second = openGovernance(path)
  expect(second.prepare('SELECT bytes FROM collection_sums').all()).toEqual([{ bytes: 7 }])
  second.exec('PRAGMA user_version = 9')
  second.close()
  const before = readFileSync(path)
  expect(() => openGovernance(path)).toThrow(OlderDatabaseError)
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a file of a newer version, and a file that is no database, are refused', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'newer.sqlite')
  const newer = openGovernance(path)
  newer.exec('PRAGMA user_version = 1000')
  newer.close()
  expect(() => openGovernance(path)).toThrow(/newer version/)
  const text = join(folder.path, 'text.sqlite')
  await writeFile(text, 'x'.repeat(8_192))
  expect(() => openGovernance(text)).toThrow(/is damaged, or is not a database/)
})
