import { expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  argumentsOf,
  filesOf,
  objectOf,
} from '../../../../../functions/src/hosts/local/author/argument-words.ts'
import { AuthorError } from '../../../../../functions/src/hosts/local/author/author-error.ts'
import { temporaryFolder } from '../../../../support/temporary-folder.ts'

const PARAMETERS = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    maybe: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    limit: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    mode: { $ref: '#/$defs/Mode' },
    options: { type: 'object' },
    level: { enum: [1, 2] },
    open: {},
    data: { type: 'string', contentEncoding: 'base64' },
    picture: { anyOf: [{ $ref: '#/$defs/Data' }, { type: 'null' }] },
    either: { anyOf: [{ type: 'string' }, { type: 'string', contentEncoding: 'base64' }] },
  },
  $defs: { Data: { type: ['string', 'null'], contentEncoding: 'base64' }, Mode: { enum: ['plain', 'bold'] } },
}

test.each([
  ['text=3', { text: '3' }],
  ['text=', { text: '' }],
  ['text=a=b', { text: 'a=b' }],
  ['text:=3', { text: 3 }],
  ['count=3', { count: 3 }],
  ['count=-3', { count: -3 }],
  ['maybe=null', { maybe: 'null' }],
  ['maybe:=null', { maybe: null }],
  ['limit=null', { limit: null }],
  ['mode=bold', { mode: 'bold' }],
  ['options={"a": [1]}', { options: { a: [1] } }],
  ['level=2', { level: 2 }],
  ['open=3', { open: '3' }],
  ['unknown=3', { unknown: '3' }],
])('%s is read as the type that the parameters state: text stays text', (word, expected) => {
  expect(argumentsOf([word], undefined, PARAMETERS)).toEqual(expected)
})

const read = (word: string) => argumentsOf([word], undefined, PARAMETERS)

test('a value behind @ is what a file holds, as text or as JSON', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'value')
  writeFileSync(path, '12\n')
  expect([read(`text=@${path}`), read(`count=@${path}`), read(`text:=@${path}`)]).toEqual([
    { text: '12\n' },
    { count: 12 },
    { text: 12 },
  ])
  writeFileSync(path, new Uint8Array([0xff, 0xfe]))
  expect(() => read(`text=@${path}`)).toThrow(/^'text': the file .* cannot be read \(it is not UTF-8\)\./)
})

test('a file for an argument that takes an artifact is attached, and its name is the value', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'table.csv')
  writeFileSync(path, new Uint8Array([0xff, 0x00]))
  const parameters = { type: 'object', properties: { 'a/b': { type: 'string', format: 'artifact' }, n: {} } }
  const words = [`a/b=@${path}`, 'n=1']
  expect(argumentsOf(words, undefined, parameters)).toEqual({ 'a/b': 'table.csv', n: '1' })
  const bytes = Buffer.from([0xff, 0x00])
  expect(filesOf(words, parameters)).toEqual([{ pointer: '/a~1b', name: 'table.csv', bytes }])
  expect(filesOf(['a/b=art_1', 'a/b:="x"'], parameters)).toEqual([])
  expect(() => filesOf(['a/b=@missing.csv'], parameters)).toThrow(
    /^'a\/b': the file missing\.csv cannot be read/,
  )
})

test('a file for an argument of bytes is sent in base64, whatever it holds', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'value')
  writeFileSync(path, new Uint8Array([0xff, 0x00, 0x41]))
  expect([read(`data=@${path}`), read(`picture=@${path}`)]).toEqual([{ data: '/wBB' }, { picture: '/wBB' }])
  writeFileSync(path, 'plain')
  // A text that may be plain stays plain, and a value that is not in a file is written as the tool gets it.
  expect([read(`either=@${path}`), read('data=cGxhaW4='), read(`data=@${path}`)]).toEqual([
    { either: 'plain' },
    { data: 'cGxhaW4=' },
    { data: 'cGxhaW4=' },
  ])
  expect(() => read(`data=@${path}.missing`)).toThrow(/^'data': the file .* cannot be read \(ENOENT\)\./)
})

test.each([
  [['count'], undefined, "'count' has no '='. Write an argument as key=value."],
  [['=3'], undefined, "'=3' names no argument before the '='. Write it as key=value."],
  [[':=3'], undefined, "':=3' names no argument before the '='. Write it as key=value."],
  [['text=a', 'text:=1'], undefined, "'text' is given twice."],
  [['text=a'], '{"text": "b"}', "'text' is given twice."],
  [['count=three'], undefined, /^'count' must be JSON of type integer, and what you wrote is not valid JSON/],
  [
    ['options={"a":1,"a":2}'],
    undefined,
    /^'options' must be JSON of type object, .* holds the same key twice/,
  ],
  [['count:={'], undefined, /^'count' must be JSON, and what you wrote is not valid JSON/],
  [[], '[1]', /^--arguments takes a JSON object, such as /],
  [[], '{', /^--arguments must be JSON, and what you wrote is not valid JSON/],
  [['text=@/nowhere/at/all'], undefined, /^'text': the file \/nowhere\/at\/all cannot be read \(ENOENT\)\. /],
] as const)('%j and %j are refused with a sentence and exit code 2', (words, whole, sentence) => {
  const refused = () => argumentsOf(words, whole, PARAMETERS)
  expect(refused).toThrow(sentence)
  expect(refused).toThrow(AuthorError)
  try {
    refused()
  } catch (error) {
    expect(error).toMatchObject({ exitCode: 2 })
  }
})

test('the object of an option is read strictly', () => {
  expect(objectOf('--context', '{"room": 1}')).toEqual({ room: 1 })
  expect(() => objectOf('--context', 'null')).toThrow('--context takes a JSON object')
})
