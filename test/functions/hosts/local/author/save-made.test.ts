import { expect, test } from '@jest/globals'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AuthorError } from '../../../../../functions/src/hosts/local/author/author-error.ts'
import { saveMade } from '../../../../../functions/src/hosts/local/author/save-made.ts'
import type { MadeContent } from '../../../../../functions/src/catalog/definitions/runner.ts'
import { temporaryFolder } from '../../../../support/temporary-folder.ts'

const made = (...names: readonly string[]): MadeContent[] =>
  names.map((name) => ({ type: 'image', mimeType: 'image/png', name, bytes: Buffer.from(name) }))

test('what a tool has made is written into a folder, and a line says where', () => {
  using folder = temporaryFolder()
  const inner = join(folder.path, 'a', 'b')
  expect(saveMade(made('chart.png', 'ü b.png'), inner)).toEqual([
    `saved ${inner}/1-chart.png (image/png, 9 bytes)`,
    `saved ${inner}/2-ü b.png (image/png, 8 bytes)`,
  ])
  expect(readFileSync(join(inner, '1-chart.png'), 'utf8')).toBe('chart.png')
})

test('no name leaves the folder, or is that of another file in it', () => {
  using folder = temporaryFolder()
  saveMade(made('../../x', '/etc/passwd', '.bashrc', 'a\\b\u0000c', '漢'.repeat(300)), folder.path)
  const names = ['1-.._.._x', '2-_etc_passwd', '3-.bashrc', '4-a_b_c', `5-${'漢'.repeat(80)}`]
  expect(readdirSync(folder.path).toSorted()).toEqual(names)
})

test('without a folder nothing is written, and without images no folder is made', () => {
  using folder = temporaryFolder()
  expect(saveMade(made('a.png'), undefined)).toEqual([
    'image 1: 1-a.png (image/png, 5 bytes); --save FOLDER writes it',
  ])
  expect(saveMade([], join(folder.path, 'none'))).toEqual([])
  expect(readdirSync(folder.path)).toEqual([])
})

test('a folder that is a file is told in a sentence', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'file')
  writeFileSync(path, '')
  expect(() => saveMade(made('a.png'), path)).toThrow(AuthorError)
})
