import { expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseConfig } from '../../../functions/src/hosts/config.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

function configured(content: string) {
  using folder = temporaryFolder()
  const path = join(folder.path, 'rules.json')
  writeFileSync(path, content)
  return parseConfig({ TOOLRACK_RULES_FILE: path }).operatorRules
}

test('the rules of the file belong to everybody', () => {
  const rules = [
    { effect: 'deny', tool: 'git:*' },
    { effect: 'allow', grant: 'packages', value: 'pandas' },
  ]
  expect(configured(JSON.stringify({ rules }))).toEqual({
    owner: { kind: 'everybody', id: 'file' },
    set: { default: 'allow', rules },
  })
  expect(parseConfig({}).operatorRules).toBeUndefined()
})

test('one error names every fault of the file, and never a value', () => {
  const rules = [
    { effect: 'denny', tool: 'git:*' },
    { effect: 'deny', tol: 'secret' },
  ]
  expect(() => configured(JSON.stringify({ rules }))).toThrow(
    /^TOOLRACK_RULES_FILE has a file .*\/rules\/0\/effect must be "allow", "ask" or "deny"; \/rules\/1 has a key/,
  )
  expect(() => configured(JSON.stringify({ rules }))).not.toThrow(/secret/)
  expect(() => configured(JSON.stringify({ default: 'no', rules: [{ effect: 'deny' }] }))).toThrow(
    /^TOOLRACK_RULES_FILE .*\/default must be .*\/rules\/0\/tool must be/,
  )
})

test.each([
  ['no JSON', '{'],
  ['nothing in it', ''],
  ['a blank line', '\n'],
  ['its end cut off', '{"rules":[{"effect":"deny",'],
  ['zeros', '\0\0'],
  ['a key twice', '{"rules":[],"rules":[]}'],
  ['a list', '[]'],
])('a file with %s is refused', (_title, content) => {
  expect(() => configured(content)).toThrow(/^TOOLRACK_RULES_FILE has a file whose rules are not valid/)
})

test('a file that is not there, and a folder in its place, are refused', () => {
  using folder = temporaryFolder()
  for (const [path, code] of [
    [join(folder.path, 'none'), 'ENOENT'],
    [folder.path, 'EISDIR'],
  ] as const)
    expect(() => parseConfig({ TOOLRACK_RULES_FILE: path })).toThrow(
      `TOOLRACK_RULES_FILE must be a file of rules that can be read (${code})`,
    )
})
