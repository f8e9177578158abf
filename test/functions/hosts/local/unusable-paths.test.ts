import { expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../../../functions/src/hosts/config.ts'
import { refuseUnusable } from '../../../../functions/src/hosts/local/unusable-paths.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

test('a folder that cannot be used is named by the line of the file, or by its variable', () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'toolrack.json')
  const none = join(folder.path, 'none')
  writeFileSync(file, '{\n  "toolsDir": "none"\n}')
  const report = readConfig({
    TOOLRACK_CONFIG: file,
    TOOLRACK_DEFS_DIR: none,
    TOOLRACK_DATA: folder.path,
  })
  const what = `${none} is not a folder that can be read`
  expect(() => refuseUnusable(report)).toThrow(
    expect.objectContaining({ faults: [`TOOLRACK_DEFS_DIR: ${what}`, `${file}:2 /toolsDir: ${what}`] }),
  )
})
