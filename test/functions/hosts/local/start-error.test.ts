import { expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EXIT, fullDisk } from '../../../../functions/src/hosts/local/start-error.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

function errorOf(work: () => void): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('Nothing was thrown.')
}

test('a full disk is told in one line, whether a file or a database finds it', () => {
  // Each write to this device fails like one to a full disk.
  const ofFile = fullDisk(errorOf(() => writeFileSync('/dev/full', 'x')))
  expect(ofFile?.message).toBe(
    'The disk of the data folder is full (ENOSPC: no space left on device, write). Free some space, or set TOOLRACK_DATA to a folder on another disk.',
  )
  expect(ofFile?.exitCode).toBe(EXIT.unwritableData)
  const ofDatabase = errorOf(() => {
    using database = new DatabaseSync(':memory:')
    database.exec('PRAGMA max_page_count = 1; CREATE TABLE a (b)')
  })
  expect(fullDisk(ofDatabase)?.message).toContain('(database or disk is full)')
})

test('another error is no full disk', () => {
  using folder = temporaryFolder()
  expect(fullDisk(errorOf(() => writeFileSync(join(folder.path, 'no', 'x'), 'x')))).toBeUndefined()
  expect(fullDisk(new Error('x'))).toBeUndefined()
})
