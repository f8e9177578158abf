import { expect, test } from '@jest/globals'
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
