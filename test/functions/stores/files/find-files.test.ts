import { expect, test } from '@jest/globals'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findFiles } from '../../../../functions/src/stores/files/find-files.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

function folderOf(...paths: readonly string[]): ReturnType<typeof temporaryFolder> {
  const folder = temporaryFolder()
  for (const path of new Set(paths.map((each) => dirname(each))))
    mkdirSync(join(folder.path, path), { recursive: true })
  for (const path of paths) writeFileSync(join(folder.path, path), '')
  return folder
}

test('the files of all subfolders are found, by path; hidden files and folders and other files are not', async () => {
  using folder = folderOf('b.json', 'cli/deep/x.json', 'cli/a.json', 'a.md', '.git/c.json', 'cli/.d.json')
  expect(await findFiles(folder.path)).toEqual({
    files: ['b.json', 'cli/a.json', 'cli/deep/x.json'],
    skipped: [],
  })
})

test('a folder behind a link is read, and one that is reached twice only by its own path', async () => {
  using outside = folderOf('x.json', 'more/y.json')
  using folder = folderOf('own/a.json')
  symlinkSync(outside.path, join(folder.path, 'linked'))
  symlinkSync(join(folder.path, 'own'), join(folder.path, 'again'))
  symlinkSync(folder.path, join(folder.path, 'own/round'))
  symlinkSync(join(folder.path, 'nowhere'), join(folder.path, 'dangling'))
  const { files, skipped } = await findFiles(folder.path)
  expect([files, skipped]).toEqual([['linked/more/y.json', 'linked/x.json', 'own/a.json'], []])
})

test('a subfolder whose path is too long is skipped with its code, and the others are read', async () => {
  const [upper, lower] = ['u', 'l'].map((letter) => Array(11).fill(letter.repeat(200)).join('/')) as [
    string,
    string,
  ]
  using folder = folderOf('a.json', `${upper}/b.json`)
  using other = folderOf(`${lower}/c.json`)
  const [moved = ''] = lower.split('/')
  const at = join(folder.path, upper, moved)
  // No call could make such a path in one step.
  renameSync(join(other.path, moved), at)
  try {
    const { files, skipped } = await findFiles(folder.path)
    expect(files).toEqual(['a.json', `${upper}/b.json`])
    expect(skipped).toMatchObject([{ message: 'cannot be read: ENAMETOOLONG' }])
  } finally {
    renameSync(at, join(other.path, moved))
  }
})

test('a folder that is not there is an error', async () => {
  await expect(findFiles('/nowhere/at/all')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('of a folder with too many subfolders the first are read, and the fault says so', async () => {
  using folder = folderOf(...Array.from({ length: 1_000 }, (_, index) => `f${1_000 + index}/a.json`))
  const { files, skipped } = await findFiles(folder.path)
  expect([files.length, files[0], files.at(-1)]).toEqual([999, 'f1000/a.json', 'f1998/a.json'])
  const message = expect.stringContaining('more than 1000 folders')
  expect(skipped).toEqual([{ source: '*.json', pointer: '', message }])
})

test('of a folder with too many files the first are read, and the fault says so', async () => {
  using folder = folderOf(...Array.from({ length: 5_001 }, (_, index) => `f${1_000 + index}.json`))
  const { files, skipped } = await findFiles(folder.path)
  expect([files.length, files.includes('f5999.json'), files.includes('f6000.json')]).toEqual([
    5_000,
    true,
    false,
  ])
  const message = expect.stringContaining('has 5001 files')
  expect(skipped).toEqual([{ source: '*.json', pointer: '', message }])
})
