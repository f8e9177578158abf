import { expect, test } from '@jest/globals'
import {
  nameOfLine,
  requestsIn,
  versionsIn,
  withoutPackages,
  withPackages,
} from '../../scripts/toolchain/requested-packages.mjs'

test('an added package replaces its line, whatever its spelling, and keeps all other lines', () => {
  const lines = ['# for charts', 'Mat_Plot.lib>=1 # why', 'pandas']
  expect(withPackages(lines, ['mat-plot-lib[extra]>=2, <3', 'requests'])).toEqual([
    '# for charts',
    'pandas',
    'mat-plot-lib[extra]>=2,<3',
    'requests',
  ])
})

test('a removed package is removed whatever its spelling, and one that is not there is refused', () => {
  expect(withoutPackages(['# mine', 'Python_DateUtil==2.9.0', 'six'], ['python.dateutil'])).toEqual([
    '# mine',
    'six',
  ])
  expect(() => withoutPackages(['six'], ['seven'])).toThrow('seven was not added, so it cannot be removed.')
})

test.each([
  'x @ git+https://a.example/x',
  'https://a.example/x.whl',
  './wheels/x.whl',
  '/tmp/x',
  '-r other.in',
  '--index-url=https://a.example',
  'pandas; python_version > "3"',
  'pandas>=2 --hash=sha256:00',
  'pandas>=',
  '-pandas',
  'pandas\nsix',
  'pandas six',
])('%j is no package', (text) => {
  expect(() => withPackages([], [text])).toThrow('URLs and paths are not taken.')
})

test('comments are no requests, and a lock may have two versions of a package', () => {
  expect(requestsIn(['# head', '', 'pandas>=2 # why', '  six'])).toEqual(['pandas>=2', 'six'])
  expect(nameOfLine('# pandas')).toBeUndefined()
  const lock =
    "numpy==2.4 ; python_version < '3.12' \\\n    --hash=sha256:00\nNumPy==2.5\nsix==1\n    # via numpy\n"
  expect([...versionsIn(lock)]).toEqual([
    ['numpy', ['2.4', '2.5']],
    ['six', ['1']],
  ])
})
