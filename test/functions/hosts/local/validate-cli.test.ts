import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeOriginalFiles } from '../../../support/original-shapes.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { tool } from '../../../support/tool.ts'

const CLI = fileURLToPath(new URL('../../../../functions/src/hosts/local/validate-cli.ts', import.meta.url))

/** What `npm run validate` runs. */
function validate(...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], { encoding: 'utf8' })
  return { code: status, stdout, stderr }
}

test('the shipped definitions are valid: code 0, and how many would be served', () => {
  const { code, stdout, stderr } = validate()
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^\d+ definitions would be served from \/.*\/defs\n$/)
}, 60_000)

test('each fault of a folder is one line with its file and pointer, and the code is 1', () => {
  using folder = temporaryFolder()
  const at = (name: string): string => join(folder.path, name)
  writeFileSync(
    at('a.json'),
    JSON.stringify({ family: 'f', tools: [tool('good'), { name: 'b', parameters: 5 }] }),
  )
  writeFileSync(at('b.json'), '{"family":\n')
  mkdirSync(at('x.json'))
  const { code, stdout, stderr } = validate(folder.path)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr.split('\n')).toEqual([
    'a.json#/tools/1/parameters: must be an object: the JSON Schema of the arguments',
    'b.json: is not valid JSON (it ends too early)',
    'x.json: is not a file; a definitions file is wanted here',
    `1 definitions would be served from ${folder.path}; 3 faults`,
    '',
  ])
}, 60_000)

test('names in files and of files cannot act on the terminal', () => {
  using folder = temporaryFolder()
  const twice = JSON.stringify({ '\u001b[2Ja': 1 }).replace('}', String.raw`,"\u001b[2Ja":2}`)
  writeFileSync(join(folder.path, 'x\u001b[31m\n.json'), twice)
  const { stderr } = validate(folder.path)
  expect(stderr.split('\n').slice(0, 1)).toEqual([
    expect.stringMatching(/^x\\u001b\[31m\\u000a\.json#\/\\u001b\[2Ja: holds the same key twice/),
  ])
  expect(stderr).not.toContain('\u001b')
}, 60_000)

test('a folder in all shapes of the original engine is valid as it is', () => {
  using folder = temporaryFolder()
  const { length } = writeOriginalFiles(folder.path)
  const { code, stdout, stderr } = validate(folder.path)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toBe(`${length} definitions would be served from ${folder.path}\n`)
}, 60_000)

test('a folder in which nothing can be served is a fault', () => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'empty'))
  const { code, stdout, stderr } = validate(folder.path)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(
      /^\*\.json: no definition can be served: neither the folder nor its subfolders have/,
    ),
    `0 definitions would be served from ${folder.path}; 1 faults`,
    '',
  ])
}, 60_000)

test('a folder that is not there is one sentence and code 1', () => {
  const { code, stdout, stderr } = validate('/nowhere/at/all')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toBe('/nowhere/at/all cannot be read (ENOENT)\n')
}, 60_000)

test('an option that is not known is one sentence, without a stack trace', () => {
  const { code, stderr } = validate('--fix')
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/--fix/)
  expect(stderr).not.toMatch(/\n\s+at /)
}, 60_000)
