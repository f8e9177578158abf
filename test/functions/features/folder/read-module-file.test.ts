import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import {
  linkSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { FILE_BYTES_MAX, readModuleFile } from '../../../../functions/src/features/folder/read-module-file.ts'
import type { FileRead } from '../../../../functions/src/features/folder/folder-file.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { until } from '../../../support/until.ts'

/** A look at a file as the folder lists it. */
function read(folder: string, name: string, stamp?: string): Promise<FileRead> {
  const entry = readdirSync(folder, { withFileTypes: true }).find((one) => one.name === name)
  if (!entry) throw new Error(`there is no ${name}`)
  return readModuleFile(folder, entry, stamp)
}

const kindOf = (read: FileRead): unknown => (read.found === 'fault' ? read.fault['kind'] : read.found)

test('a file is read again only when it is another, or so new that its clock may not tell', async () => {
  using folder = temporaryFolder()
  const first = await until(
    () => {
      writeFileSync(join(folder.path, 'a.py'), 'one')
      return read(folder.path, 'a.py')
    },
    (read) => 'stamp' in read && read.stamp === '',
  )
  expect(first).toMatchObject({ found: 'content', source: Buffer.from('one') })
  expect(kindOf(await read(folder.path, 'a.py', ''))).toBe('content')
  const stamped = await until(
    () => read(folder.path, 'a.py'),
    (read) => 'stamp' in read && read.stamp !== '',
  )
  const stamp = 'stamp' in stamped ? stamped.stamp : ''
  expect(await read(folder.path, 'a.py', stamp)).toEqual({ found: 'same' })
  writeFileSync(join(folder.path, 'a.py'), 'two')
  utimesSync(join(folder.path, 'a.py'), 1, 1)
  expect(await read(folder.path, 'a.py', stamp)).toMatchObject({ source: Buffer.from('two') })
})

test('a file as large as allowed is read, one byte more is told with both sizes', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'full.py'), Buffer.alloc(FILE_BYTES_MAX))
  writeFileSync(join(folder.path, 'more.py'), Buffer.alloc(FILE_BYTES_MAX + 1))
  expect(kindOf(await read(folder.path, 'full.py'))).toBe('content')
  expect(await read(folder.path, 'more.py')).toMatchObject({
    fault: {
      reason: 'MODULE_INVALID',
      kind: 'source_too_large',
      message: 'more.py: the file is 262,145 bytes; a module may have 262,144. Split it.',
    },
  })
})

test('a file larger than can be held is told by its size, without being read', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'vast.py'), '')
  truncateSync(join(folder.path, 'vast.py'), 3 * 1024 ** 3)
  expect(await read(folder.path, 'vast.py')).toMatchObject({
    fault: {
      kind: 'source_too_large',
      message: 'vast.py: the file is 3,221,225,472 bytes; a module may have 262,144. Split it.',
    },
  })
})

test('links are followed within the folder, also where it is reached by a link itself, and not out of it', async () => {
  using outer = temporaryFolder()
  const folder = join(outer.path, 'tools')
  mkdirSync(join(folder, '..data'), { recursive: true })
  mkdirSync(`${folder}-beside`)
  writeFileSync(join(`${folder}-beside`, 'x.py'), 'outside')
  writeFileSync(join(folder, '..data/x.py'), 'inside')
  symlinkSync('..data/x.py', join(folder, 'inside.py'))
  symlinkSync(join(`${folder}-beside`, 'x.py'), join(folder, 'outside.py'))
  symlinkSync('outside.py', join(folder, 'twice.py'))
  symlinkSync('loop.py', join(folder, 'loop.py'))
  symlinkSync('nowhere', join(folder, 'dangling.py'))
  linkSync(join(folder, '..data/x.py'), join(folder, 'hard.py'))
  symlinkSync('tools', join(outer.path, 'by-link'))
  for (const path of [folder, join(outer.path, 'by-link')]) {
    expect(await read(path, 'inside.py')).toMatchObject({ source: Buffer.from('inside') })
    expect(kindOf(await read(path, 'outside.py'))).toBe('file_outside')
    expect(kindOf(await read(path, 'twice.py'))).toBe('file_outside')
    expect(kindOf(await read(path, 'loop.py'))).toBe('file_unreadable')
    expect(kindOf(await read(path, 'dangling.py'))).toBe('file_unreadable')
    expect(kindOf(await read(path, 'hard.py'))).toBe('content')
  }
})

test('what is no file, or leads to nothing or out of the folder, is told by its name with its cure', async () => {
  using outer = temporaryFolder()
  const folder = join(outer.path, 'tools')
  mkdirSync(join(folder, 'a_folder.py'), { recursive: true })
  spawnSync('mkfifo', [join(folder, 'a_pipe.py')])
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling.py'))
  writeFileSync(join(outer.path, 'outside.py'), 'outside')
  symlinkSync(join(outer.path, 'outside.py'), join(folder, 'outside.py'))
  const told = [
    ['a_folder.py', 'not_a_file', 'this is no file. Give it another name.'],
    ['a_pipe.py', 'not_a_file', 'this is no file. Give it another name.'],
    ['dangling.py', 'file_unreadable', 'the file is a link to nothing. Remove it, or mend the link.'],
    ['outside.py', 'file_outside', 'the file is a link out of the folder. Copy it into the folder.'],
  ] as const
  for (const [file, kind, sentence] of told)
    expect(await read(folder, file)).toMatchObject({
      found: 'fault',
      fault: { reason: 'MODULE_INVALID', kind, message: `${file}: ${sentence}` },
    })
})

test('a file that goes between the listing and the look is gone, and no fault', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'a.py'), '')
  const [entry] = readdirSync(folder.path, { withFileTypes: true })
  if (!entry) throw new Error('nothing is listed')
  expect(await readModuleFile(join(folder.path, 'elsewhere'), entry)).toEqual({ found: 'gone' })
})
