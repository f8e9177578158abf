import { expect, test } from '@jest/globals'
import { isModuleFile, moduleNameOf } from '../../../../functions/src/features/folder/scan-folder.ts'

test.each([
  'weather.py',
  'a.py',
  'a b.py',
  'class.py',
  'we-ather.py',
  'caf\u00e9.py',
  'a.b.py',
  'a_.py',
  'a\nb.py',
])('%j is looked at, whatever the runner says to its name', (name) => {
  expect(isModuleFile(name)).toBe(true)
})

test.each([
  '_private.py',
  '__init__.py',
  '.hidden.py',
  '.py',
  '.#weather.py',
  '.weather.py.swp',
  'weather.py~',
  '#weather.py#',
  '4913',
  'weather.pyc',
  'weather.py.bak',
  'weather.py___jb_tmp___',
  'weather.PY',
  'weather',
  '',
])('%j is not', (name) => {
  expect(isModuleFile(name)).toBe(false)
})

test('a module is called as its file without .py', () => {
  expect(moduleNameOf('weather.py')).toBe('weather')
})
