import { expect, test } from '@jest/globals'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { parseConfig } from '../../../../functions/src/hosts/config.ts'
import { packageGlobs } from '../../../../functions/src/hosts/settings/package-globs.ts'

test('names of packages are read as people write them', () => {
  expect(packageGlobs('NumPy, python_dateutil,Zope.Interface* a__b,')).toEqual([
    'numpy',
    'python-dateutil',
    'zope-interface*',
    'a-b',
  ])
  expect(packageGlobs(undefined)).toEqual([])
})

test.each(['TOOLRACK_PACKAGES_ALLOW', 'TOOLRACK_PACKAGES_DENY'])(
  '%s with a bad item is refused, and names it',
  (name) => {
    const fault = `${name} must be globs of names such as pandas,types-*; "b>=2" is none`
    expect(() => parseConfig({ [name]: 'good,b>=2' })).toThrow(fault)
    expect(parseConfig({ [name]: 'NumPy' }).runner.environment).toMatchObject({ [name]: 'NumPy' })
  },
)

test('a folder of wheels that cannot be read is a fault of the configuration', () => {
  using folder = temporaryFolder()
  expect(setting(folder.path)).toEqual({ TOOLRACK_PACKAGES_WHEELS: folder.path })
  for (const path of ['/nope', import.meta.filename])
    expect(() => setting(path)).toThrow('TOOLRACK_PACKAGES_WHEELS must be a folder that can be read')
})

function setting(path: string) {
  return parseConfig({ TOOLRACK_PACKAGES_WHEELS: path }).runner.environment
}
