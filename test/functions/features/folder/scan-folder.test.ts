import { expect, test } from '@jest/globals'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FILES_MAX, scanFolder } from '../../../../functions/src/features/folder/scan-folder.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const unknown = (): undefined => undefined

test('modules come by file name, and of more than a folder may have the last are counted', async () => {
  using folder = temporaryFolder()
  const more = 3
  for (let number = FILES_MAX + more - 1; number >= 0; number -= 1)
    writeFileSync(join(folder.path, `m${String(number).padStart(5, '0')}.py`), '')
  writeFileSync(join(folder.path, '_private.py'), '')
  const scan = await scanFolder(folder.path, unknown)
  const files = scan.found === 'folder' ? [...scan.files.keys()] : []
  expect(files).toHaveLength(FILES_MAX)
  expect(files).toEqual(files.toSorted())
  expect(scan).toMatchObject({ found: 'folder', surplus: more })
})

test('a folder that is not there is told from one that can not be read', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'a.py')
  writeFileSync(file, '')
  expect(await scanFolder(join(folder.path, 'nowhere'), unknown)).toEqual({ found: 'nothing' })
  expect(await scanFolder(file, unknown)).toEqual({ found: 'fault', reason: 'It is not a folder.' })
})

test('private and hidden files, those of editors and caches, and other kinds are not looked at', async () => {
  using folder = temporaryFolder()
  const at = (file: string): string => join(folder.path, file)
  const ignored = [
    '_private.py',
    '.hidden.py',
    '.quiet.py.swp',
    'quiet.py~',
    '#quiet.py#',
    '4913',
    'quiet.pyc',
    'quiet.txt',
  ]
  for (const file of ignored) writeFileSync(at(file), '')
  for (const inner of ['__pycache__', '.git']) {
    mkdirSync(at(inner))
    writeFileSync(at(`${inner}/__init__.py`), '')
  }
  symlinkSync('ada@host.1:2', at('.#quiet.py'))
  writeFileSync(at('seen.py'), '')
  const scan = await scanFolder(folder.path, unknown)
  expect(scan.found === 'folder' && [...scan.files.keys()]).toEqual(['seen.py'])
})
