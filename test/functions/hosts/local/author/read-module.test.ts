import { expect, test } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AuthorError } from '../../../../../functions/src/hosts/local/author/author-error.ts'
import { readModule } from '../../../../../functions/src/hosts/local/author/read-module.ts'
import { temporaryFolder } from '../../../../support/temporary-folder.ts'

test('a file is the module of its name, and a folder with __init__.py is one too', async () => {
  using folder = temporaryFolder()
  const at = (path: string): string => join(folder.path, path)
  writeFileSync(at('weather.py'), 'TOOL_SPECS = []\n')
  mkdirSync(at('trip'))
  writeFileSync(at('trip/__init__.py'), 'TOOL_SPECS = []\n')
  const source = Buffer.from('TOOL_SPECS = []\n')
  expect(await readModule(at('weather.py'))).toEqual({ name: 'weather', source })
  const files = [{ path: '__init__.py', content: source }]
  for (const path of ['trip', 'trip/__init__.py'])
    expect(await readModule(at(path))).toEqual({ name: 'trip', files })
})

test.each([
  ['nowhere.py', 'There is no file PATH.'],
  ['weather.txt', "PATH: the name of a module's file ends in .py, such as weather.py."],
  ['empty', 'PATH is a folder without __init__.py, so it is no module. Name a .py file.'],
  ['large.py', 'PATH is 262,145 bytes; a module may have 262,144. Split it.'],
])('what is no module is one sentence and the exit code 1: %s', async (name, sentence) => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'weather.txt'), '')
  writeFileSync(join(folder.path, 'large.py'), '#'.repeat(262_145))
  mkdirSync(join(folder.path, 'empty'))
  const path = join(folder.path, name)
  const error = await readModule(path).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(AuthorError)
  expect(error).toMatchObject({ message: sentence.replace('PATH', path), exitCode: 1 })
})
