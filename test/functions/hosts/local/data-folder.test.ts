import { expect, test } from '@jest/globals'
import { chmodSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { claimDataFolder } from '../../../../functions/src/hosts/local/data-folder.ts'
import type { DataFolder } from '../../../../functions/src/hosts/local/data-folder.ts'
import { EXIT, StartError } from '../../../../functions/src/hosts/local/start-error.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

/** Claims a folder that nobody is warned of. */
function claim(path: string): DataFolder {
  return claimDataFolder(path, {
    warn: (message) => {
      throw new Error(message)
    },
  })
}

function faultOf(act: () => unknown): StartError {
  try {
    act()
  } catch (error) {
    if (error instanceof StartError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test('a folder that is not there is made, with those above it, for its owner only', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'a', 'b')
  claim(path).release()
  expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a file that other accounts could read becomes one for its owner only; where a link leads is refused', () => {
  using folder = temporaryFolder()
  using other = temporaryFolder()
  const [token, outside] = [join(folder.path, 'token'), join(other.path, 'token')]
  for (const path of [token, outside]) {
    writeFileSync(path, 'secret')
    chmodSync(path, 0o644)
  }
  claim(folder.path).release()
  expect(statSync(token).mode & 0o777).toBe(0o600)

  symlinkSync(outside, join(folder.path, 'job-keys.json'))
  const fault = faultOf(() => claim(folder.path))
  expect(fault.exitCode).toBe(EXIT.unwritableData)
  expect(fault.message).toMatch(/^Other accounts can read .* symbolic link/)
  expect(statSync(outside).mode & 0o777).toBe(0o644)
})

test('a folder is claimed once; released it can be claimed again', () => {
  using folder = temporaryFolder()
  const first = claim(folder.path)
  const fault = faultOf(() => claim(folder.path))
  expect(fault.exitCode).toBe(EXIT.dataInUse)
  expect(fault.message).toMatch(/^Another Toolrack server uses the data in .*\.$/)
  first.release()
  claim(folder.path).release()
})

test('a path through a file is a folder that can not be written', () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below')])
    expect(faultOf(() => claim(path))).toMatchObject({ exitCode: EXIT.unwritableData })
})

test.each(['1234', 'this is no database at all, but long enough to be read as one'.repeat(20)])(
  'a claim file that holds %j is told with its own cure, which helps',
  (text) => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'in-use')
    writeFileSync(path, text)
    const fault = faultOf(() => claim(folder.path))
    expect(fault.exitCode).toBe(EXIT.damagedData)
    expect(fault.message).toMatch(/in-use cannot be used \(.*it holds no data.*Remove it and start again/)
    rmSync(path)
    claim(folder.path).release()
  },
)
