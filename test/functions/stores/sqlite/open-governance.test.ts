import { expect, test } from '@jest/globals'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openGovernance } from '../../../../functions/src/stores/sqlite/open-governance.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

test('what was committed is there after the next start', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const first = openGovernance(path)
  first.prepare('INSERT INTO rules VALUES (?, ?)').run('', '{}')
  first.close()
  const second = openGovernance(path)
  expect(second.prepare('SELECT text FROM rules').all()).toEqual([{ text: '{}' }])
  second.close()
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
