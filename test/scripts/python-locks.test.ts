import { expect, test } from '@jest/globals'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pythonLockProblems } from '../../scripts/toolchain/python-locks.mjs'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const FILES = ['requirements.in', 'requirements.txt', 'requirements-dev.in', 'requirements-dev.txt']

/** The locks as they are, with one file changed, and what is found wrong with them. */
function problemsWith(file: string, change: (text: string) => string): string[] {
  using folder = temporaryFolder()
  const target = join(folder.path, 'python-runner')
  mkdirSync(target)
  for (const name of FILES) cpSync(fileURLToPath(new URL(`python-runner/${name}`, ROOT)), join(target, name))
  const path = join(target, file)
  writeFileSync(path, change(readFileSync(path, 'utf8')))
  return pythonLockProblems(folder.path)
}

test('the locks of the Python environment are what their lists ask for', () => {
  expect(pythonLockProblems(fileURLToPath(ROOT))).toEqual([])
})

test.each([
  [
    'requirements.in',
    /^uvicorn==.*$/m,
    'uvicorn==1.2.3',
    [/requirements\.txt: uvicorn is not locked as 1\.2\.3/],
  ],
  [
    'requirements.in',
    /^uvicorn==.*$/m,
    'uvicorn',
    [/requirements\.txt: uvicorn is not locked as not exactly/],
  ],
  [
    'requirements-dev.in',
    /^ruff==.*$/m,
    'ruff==9.9.9',
    [/requirements-dev\.txt: ruff is not locked as 9\.9\.9/],
  ],
  [
    'requirements.txt',
    /^h11==\S+/m,
    'h11==0.1.0',
    [/requirements-dev\.txt: h11 is not that of requirements\.txt/],
  ],
  [
    'requirements.txt',
    /^(h11==\S+) \\(?:\n {4}--hash=\S+(?: \\)?)+/m,
    '$1',
    [/requirements\.txt: h11 has no hash/],
  ],
  [
    'requirements.txt',
    /^#/,
    '--index-url https://registry.example\n#',
    [/requirements\.txt: names a registry/],
  ],
])('a change of %s by %s to %s is found', (file, what, to, problems) => {
  const found = problemsWith(file, (text) => {
    expect(text).toMatch(what)
    return text.replace(what, to)
  })
  expect(found).toEqual(problems.map((problem) => expect.stringMatching(problem)))
})
