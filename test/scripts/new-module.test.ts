import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keywords, standardLibrary } from '../../scripts/toolchain/python-names.mjs'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeCheckout } from './support/checkout.ts'

/** Runs `new` in a checkout in which nothing is installed, on a machine without npm and without Python. */
async function runNew(
  folder: string,
  file: string,
  locks: Readonly<Record<string, string>> = {},
  options: readonly string[] = [],
) {
  using checkout = makeCheckout()
  for (const [path, text] of Object.entries(locks))
    writeFileSync(join(checkout.root, 'python-runner', path), text)
  const env = { INIT_CWD: folder, PATH: '', TOOLRACK_PYTHON: '/nowhere/python', npm_execpath: '' }
  const run = checkout.run('tool.mjs', ['new', file, ...options], 'fails', 'fails', env)
  const code = await run.ended()
  expect([checkout.npmCalls(), checkout.pythonCalls(), existsSync(join(checkout.root, '.toolrack'))]).toEqual(
    [[], [], false],
  )
  return { code, said: run.output() }
}

test('new writes a module and its test with nothing installed', async () => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'tools'))
  expect(await runNew(folder.path, 'tools/notes.py')).toEqual({
    code: 0,
    said: expect.stringMatching(
      /^tools\/notes\.py: a module with the tool notes:repeat\ntools\/tests\/test_notes\.py: its test/,
    ),
  })
  expect(readFileSync(join(folder.path, 'tools/notes.py'), 'utf8')).toContain('"name": "notes:repeat"')
  expect(readFileSync(join(folder.path, 'tools/tests/test_notes.py'), 'utf8')).toContain('import notes')
})

test('new writes a head that asks for packages, and refuses what is no package or hides one', async () => {
  using folder = temporaryFolder()
  const options = ['--packages', 'pandas[excel,html]>=2,<4,requests']
  expect(await runNew(folder.path, 'tables.py', {}, options)).toMatchObject({ code: 0 })
  const source = readFileSync(join(folder.path, 'tables.py'), 'utf8')
  expect(source).toMatch(
    /^# \/\/\/ script\n# dependencies = \["pandas\[excel,html\]>=2,<4", "requests"\]\n# \/\/\/\n"""Tools/,
  )
  expect(readFileSync(join(folder.path, 'tests/test_tables.py'), 'utf8')).toContain(
    'They need pytest and what tables.py asks for in its head',
  )
  expect(await runNew(folder.path, 'other.py', {}, ['--packages', 'x @ https://a.example/x.whl'])).toEqual({
    code: 2,
    said: expect.stringMatching(/^'x @ https:\/\/a\.example\/x\.whl' is no package: /),
  })
  expect(await runNew(folder.path, 'typing_inspect.py', {}, ['--packages', 'typing-inspect'])).toEqual({
    code: 1,
    said: expect.stringMatching(/'typing_inspect' is the name of a package of the module, which the file/),
  })
  expect(readdirSync(folder.path).toSorted()).toEqual(['tables.py', 'tests'])
})

const LOCKS = { 'requirements.txt': 'docstring-parser==0.1 \\\n', 'packages.txt': 'pandas==3.1.1 \\\n' }

test.each([
  ['taken.py', /^taken\.py exists already\. Nothing was written\.$/m],
  ['free.py', /^tests\/test_free\.py exists already\. Nothing was written\.$/m],
  ['nowhere/x.py', /^There is no folder nowhere\. Make it first\.$/m],
  ['x.txt', /^x\.txt: the name of a module's file ends in \.py, such as weather\.py\.$/m],
  ['my-tool.py', /^my-tool\.py: this is no module name \(1 to 64 ASCII .* Nothing was written\.$/m],
  ['class.py', /^class\.py: this is no module name .* no Python keyword\)\. .* Nothing was written\.$/m],
  [`${'a'.repeat(65)}.py`, /: this is no module name /],
  ['__main.py', /^__main\.py: names that start with __ are reserved for Python\. .* Nothing was written\.$/m],
  [
    'json.py',
    /^json\.py: 'json' is the name of Python's standard library, which the file would hide\. .* json_tools\.py/m,
  ],
  [
    'docstring_parser.py',
    /'docstring_parser' is the name of an installed package, which the file would hide\./,
  ],
  ['pandas.py', /'pandas' is the name of an installed package/],
])('new %s is refused in one sentence, and writes nothing', async (file, said) => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'tests'))
  for (const path of ['taken.py', 'tests/test_free.py']) writeFileSync(join(folder.path, path), '')
  const refused = await runNew(folder.path, file, LOCKS)
  expect(refused).toEqual({ code: 1, said: expect.stringMatching(said) })
  expect(refused.said.trimEnd()).not.toContain('\n')
  expect(readdirSync(folder.path).toSorted()).toEqual(['taken.py', 'tests'])
  expect(readdirSync(join(folder.path, 'tests'))).toEqual(['test_free.py'])
})

withPython('the names of Python are those of the Python that is there', async () => {
  const program =
    'import json, keyword, sys; print(json.dumps([keyword.kwlist, sorted(sys.stdlib_module_names)]))'
  const { stdout } = spawnSync(PYTHON, ['-I', '-c', program], { encoding: 'utf8' })
  const [words, modules] = JSON.parse(stdout) as [string[], string[]]
  expect([...keywords].toSorted()).toEqual(words.toSorted())
  const unknown = modules.filter((name) => !name.startsWith('_') && !standardLibrary.has(name))
  expect(unknown).toEqual([])
  await Promise.resolve()
})
