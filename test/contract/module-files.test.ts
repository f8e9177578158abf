import { expect, test } from '@jest/globals'
import { contentSha256, filesOf } from '../../functions/src/catalog/definitions/module-content.ts'
import {
  isModulePath,
  refuseLargeFiles,
  refuseManyFiles,
} from '../../functions/src/catalog/definitions/module-files.ts'
import { vectors } from '../support/vectors.ts'

const DIGESTS = vectors<Readonly<Record<string, string>>, string>('module-files', 'digests')

test('there are digests to compare', () => {
  expect(DIGESTS.length).toBeGreaterThan(2)
})

test.each(DIGESTS)('the digest of files is the one of the runner: $title', ({ input, expected }) => {
  const files = filesOf(Object.entries(input).map(([path, text]) => [path, Buffer.from(text)] as const))
  expect(contentSha256({ files })).toBe(expected)
})

test.each(vectors<Readonly<Record<string, number>>, string>('module-files'))(
  'the service knows paths and sizes exactly where the runner does: $title',
  ({ input, expected }) => {
    const paths = Object.keys(input)
    if (expected === 'path_invalid') expect(paths.every(isModulePath)).toBe(false)
    else expect(paths.filter((path) => !isModulePath(path))).toEqual([])
    if (paths.length <= 64) refuseManyFiles('weather', paths.length)
    else
      expect(() => refuseManyFiles('weather', paths.length)).toThrow(
        'weather/: the module has 65 files; at most 64 are allowed. Join some, or split the module.',
      )
    const files = filesOf(Object.entries(input).map(([path, size]) => [path, Buffer.alloc(size)] as const))
    if (expected !== 'files_too_large') refuseLargeFiles('weather', files)
    else
      expect(() => refuseLargeFiles('weather', files)).toThrow(
        'weather/: the files have 524,289 bytes together; 524,288 are allowed. Move data out of them.',
      )
  },
)
