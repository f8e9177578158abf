import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FileRead } from '../../../../functions/src/features/folder/folder-file.ts'
import { readModuleFolder } from '../../../../functions/src/features/folder/read-module-folder.ts'
import { MODULE_FILES_BYTES_MAX } from '../../../../functions/src/catalog/definitions/module-files.ts'
import { sha256Of } from '../../../support/module-changes.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { until } from '../../../support/until.ts'

/** Writes files below a folder, with their subfolders. */
function save(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

async function readModule(root: string, stamp?: string, watched: string[] = []): Promise<FileRead> {
  const entry = readdirSync(root, { withFileTypes: true }).find(({ name }) => name === 'm')
  if (!entry) throw new Error('there is no folder m')
  return readModuleFolder(root, entry, { stamp, watch: (path) => void watched.push(path) })
}

const pathsOf = (read: FileRead): unknown =>
  read.found === 'content' ? read.files?.map(({ path }) => path) : read

const kindOf = (read: FileRead): unknown => (read.found === 'fault' ? read.fault['kind'] : read.found)
const messageOf = (read: FileRead): unknown => (read.found === 'fault' ? read.fault['message'] : read.found)

test('the files of a folder are read with their paths, in their order, and its subfolders are told', async () => {
  using root = temporaryFolder()
  const files = { '__init__.py': 'x', '_private.py': '', 'a.py': '1', 'a/b/c.json': '{}', 'a-b.txt': 'é' }
  save(join(root.path, 'm'), files)
  const watched: string[] = []
  const read = await readModule(root.path, '', watched)
  expect(pathsOf(read)).toEqual(['__init__.py', '_private.py', 'a-b.txt', 'a.py', 'a/b/c.json'])
  expect(read).toMatchObject({ sha256: sha256Of(files) })
  expect(watched).toEqual([join(root.path, 'm/a'), join(root.path, 'm/a/b')])
})

test('a folder without __init__.py is no module', async () => {
  using root = temporaryFolder()
  save(join(root.path, 'm'), { 'a.py': '', 'sub/__init__.py': '' })
  expect(await readModule(root.path)).toEqual({ found: 'gone' })
})

test('temporary files, caches and hidden files are no part of a module', async () => {
  using root = temporaryFolder()
  const ignored = [
    '.a.py.swp',
    '.#a.py',
    '#a.py#',
    'a.py~',
    'a.pyc',
    '__pycache__/a.cpython-313.pyc',
    '.git/config',
    'a b.py',
    'é.py',
  ]
  const parts = { '__init__.py': '', 'sub/__init__.py': '' }
  save(join(root.path, 'm'), { ...Object.fromEntries(ignored.map((path) => [path, 'x'])), ...parts })
  expect(pathsOf(await readModule(root.path))).toEqual(['__init__.py', 'sub/__init__.py'])
})

test('a folder is read again only if a file in it was added, removed, renamed or changed', async () => {
  using root = temporaryFolder()
  const folder = join(root.path, 'm')
  save(folder, { '__init__.py': 'x', 'a/b.py': '1' })
  const settled = async (): Promise<string> => {
    const read = await until(
      () => readModule(root.path),
      (found) => 'stamp' in found && found.stamp !== '',
    )
    return 'stamp' in read ? read.stamp : ''
  }
  const changes = [
    () => writeFileSync(join(folder, 'a/b.py'), '2'),
    () => writeFileSync(join(folder, 'a/c.py'), ''),
    () => renameSync(join(folder, 'a/c.py'), join(folder, 'a/d.py')),
    () => rmSync(join(folder, 'a/d.py')),
  ]
  for (const change of changes) {
    const stamp = await settled()
    expect(await readModule(root.path, stamp)).toEqual({ found: 'same' })
    change()
    expect(kindOf(await readModule(root.path, stamp))).toBe('content')
  }
})

test('links are followed in the watched folder, as a mounted ConfigMap has them, and not out of it', async () => {
  using outer = temporaryFolder()
  const root = join(outer.path, 'tools')
  save(outer.path, {
    'secret/passwd.py': 'outside',
    'tools/..data/__init__.py': 'x',
    'tools/..data/sub/a.py': '1',
  })
  mkdirSync(join(root, 'm'))
  symlinkSync('../..data/__init__.py', join(root, 'm/__init__.py'))
  symlinkSync('../..data/sub', join(root, 'm/sub'))
  expect(pathsOf(await readModule(root))).toEqual(['__init__.py', 'sub/a.py'])
  for (const [target, name] of [
    ['../../secret/passwd.py', 'x.py'],
    ['../../secret', 'y'],
  ] as const) {
    symlinkSync(target, join(root, 'm', name))
    expect(messageOf(await readModule(root))).toBe(
      `m/${name}: the file is a link out of the folder. Copy it into the folder.`,
    )
    rmSync(join(root, 'm', name))
  }
  symlinkSync('nowhere', join(root, 'm/z.py'))
  expect(messageOf(await readModule(root))).toBe(
    'm/z.py: the file is a link to nothing. Remove it, or mend the link.',
  )
  rmSync(join(root, 'm/z.py'))
  symlinkSync('.', join(root, 'm/loop'))
  expect(['files_too_many', 'path_invalid', 'file_unreadable']).toContain(kindOf(await readModule(root)))
  rmSync(join(root, 'm'), { recursive: true })
  save(outer.path, { 'secret/__init__.py': 'outside' })
  symlinkSync('../secret', join(root, 'm'))
  expect(messageOf(await readModule(root))).toBe(
    'm: the file is a link out of the folder. Copy it into the folder.',
  )
})

test('what is no file is a fault with its name', async () => {
  using root = temporaryFolder()
  save(join(root.path, 'm'), { '__init__.py': '' })
  spawnSync('mkfifo', [join(root.path, 'm/pipe.py')])
  expect(messageOf(await readModule(root.path))).toBe('m/pipe.py: this is no file. Give it another name.')
})

test('64 files are read; 65, too many folders and too long paths are told without a read', async () => {
  using root = temporaryFolder()
  const folder = join(root.path, 'm')
  save(folder, { '__init__.py': '' })
  for (let file = 1; file < 64; file += 1) writeFileSync(join(folder, `f${file}.py`), '')
  expect(kindOf(await readModule(root.path))).toBe('content')
  writeFileSync(join(folder, 'f64.py'), '')
  expect(messageOf(await readModule(root.path))).toMatch(/^m\/: the module has more than 64 files; /)
  rmSync(folder, { recursive: true })
  save(folder, { '__init__.py': '' })
  for (let inner = 0; inner < 65; inner += 1) mkdirSync(join(folder, `d${inner}`))
  expect(messageOf(await readModule(root.path))).toMatch(/^m\/: the module has more than 64 folders; /)
  rmSync(folder, { recursive: true })
  save(folder, { '__init__.py': '', [`${'a/'.repeat(200)}b.py`]: '' })
  expect(kindOf(await readModule(root.path))).toBe('files_too_many')
  rmSync(folder, { recursive: true })
  save(folder, { '__init__.py': '', [`${'a'.repeat(190)}/${'b'.repeat(10)}`]: '' })
  expect(messageOf(await readModule(root.path))).toMatch(/^m\/: 'a{64}…' has more than 200 characters\. /)
})

test('files as large as allowed together are read, one byte more is told, and a vast file is not read', async () => {
  using root = temporaryFolder()
  const folder = join(root.path, 'm')
  const half = 'x'.repeat(MODULE_FILES_BYTES_MAX / 2)
  save(folder, { '__init__.py': half, 'data.txt': half })
  expect(kindOf(await readModule(root.path))).toBe('content')
  writeFileSync(join(folder, 'more.txt'), 'x')
  expect(messageOf(await readModule(root.path))).toBe(
    'm/: the files have 524,289 bytes together; 524,288 are allowed. Move data out of them.',
  )
  truncateSync(join(folder, 'more.txt'), 3 * 1024 ** 3)
  expect(kindOf(await readModule(root.path))).toBe('files_too_large')
})

test('a file that has the name of a prototype is a file like any other', async () => {
  using root = temporaryFolder()
  save(join(root.path, 'm'), { '__init__.py': '', constructor: '1' })
  writeFileSync(join(root.path, 'm/__proto__'), '2')
  expect(pathsOf(await readModule(root.path))).toEqual(['__init__.py', '__proto__', 'constructor'])
})
