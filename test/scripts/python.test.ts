import { expect, test } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPython } from '../../scripts/toolchain/python.mjs'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A Python that only prints what it is. */
function makePython(folder: string, name: string, version: readonly number[], isPublic = true): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  const told = JSON.stringify({ path, version, isPublic })
  writeFileSync(path, `#!/bin/sh\necho '${told}'\n`, { mode: 0o755 })
  return path
}

test('the newest name is taken, on PATH before the usual folders, and one too old is passed over', () => {
  using folder = temporaryFolder()
  const [first, second] = [join(folder.path, 'a'), join(folder.path, 'b')]
  makePython(first, 'python3', [3, 9, 2])
  const newest = makePython(second, 'python3.12', [3, 12, 1])
  makePython(first, 'python3.11', [3, 11, 4])
  const machine = { isRoot: false, folders: [second] }
  expect(findPython({ env: { PATH: first }, ...machine })).toMatchObject({ path: newest, version: '3.12.1' })
})

test('root takes a Python that everybody may read before one that only root may, and that one before none', () => {
  using folder = temporaryFolder()
  const [home, system] = [join(folder.path, 'home'), join(folder.path, 'system')]
  const hidden = makePython(home, 'python3', [3, 13, 0], false)
  const env = { PATH: home }
  expect(findPython({ env, isRoot: true, folders: [system] }).path).toBe(hidden)
  const open = makePython(system, 'python3', [3, 11, 2])
  expect(findPython({ env, isRoot: true, folders: [system] }).path).toBe(open)
  expect(findPython({ env, isRoot: false, folders: [system] }).path).toBe(hidden)
})

test('TOOLRACK_PYTHON settles it, and is not passed over when it can not be used', () => {
  using folder = temporaryFolder()
  makePython(folder.path, 'python3.13', [3, 13, 0])
  const own = makePython(folder.path, 'own', [3, 11, 9], false)
  const old = makePython(folder.path, 'old', [3, 10, 0])
  const find = (TOOLRACK_PYTHON: string) => () =>
    findPython({ env: { PATH: folder.path, TOOLRACK_PYTHON }, isRoot: true, folders: [] })
  expect(find(own)().path).toBe(own)
  expect(find(old)).toThrow(
    'TOOLRACK_PYTHON must be the path of a Python 3.11 or newer, and what it names is Python 3.10.0',
  )
  expect(find(join(folder.path, 'nowhere'))).toThrow(
    'cannot be run as a Python: correct it, or leave it out.',
  )
})

test('when there is none, one sentence says what is wanted, what there is and what to do', () => {
  using folder = temporaryFolder()
  const empty = { isRoot: true, folders: [] }
  const find = () => findPython({ env: { PATH: folder.path }, ...empty })
  expect(find).toThrow(
    'needs Python 3.11 or newer, and no Python was found: install one (on Debian and Ubuntu: apt',
  )
  makePython(folder.path, 'python3', [3, 9, 2])
  expect(find).toThrow('and only Python 3.9.2 was found: install one')
})
