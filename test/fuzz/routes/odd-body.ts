import type { JsonValue } from '@toolrack/contract'
import fc from 'fast-check'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { changedJson, jsonChanges } from '../json-changes.ts'
import { examplesOf, NAMES } from './examples.ts'
import { oddText, utf8 } from './odd-bytes.ts'

/** A body as bytes, and the headers that belong to it. */
export type OddBody = { readonly body: string; readonly headers: readonly (readonly [string, string])[] }

const deep = (levels: number, open: string, close: string): string =>
  open.repeat(levels) + close.repeat(levels)
function nested(levels: number): JsonValue {
  let value: JsonValue = 1
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

export const oddValue: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false, 0, -0, -1, 1.5, 2 ** 53, 1e308, 5e-324, '', [], {}),
  fc.constantFrom<JsonValue>(
    ...NAMES,
    '$BOBS_DIGEST$',
    '$BOBS_SHA256$',
    '\ud800',
    'a\udfff',
    '\u0000',
    'x'.repeat(5_000),
  ),
  fc.constantFrom<JsonValue>(
    'type',
    'properties',
    'parameters',
    'function',
    'name',
    'sealed',
    'runner',
    'kind',
    'python',
  ),
  fc.constantFrom<JsonValue>(
    { kind: 'python', module: 'vault', sha256: '$BOBS_SHA256$' },
    { kind: 'http', url: 'http://127.0.0.1/' },
  ),
  fc.constantFrom<JsonValue>(
    { kind: 'builtin', builtin: 'constructor' },
    { $ref: '#' },
    { $ref: 'http://127.0.0.1:1/x' },
  ),
  fc.constantFrom<JsonValue>(
    { pattern: '(a+)+$' },
    { pattern: '(?=x)' },
    { uniqueItems: true },
    { $async: true },
    { $id: 'x' },
  ),
  fc.constantFrom<JsonValue>(
    nested(30),
    nested(40),
    nested(500),
    Array.from({ length: 5_000 }, () => 0),
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.double() as fc.Arbitrary<JsonValue>,
)

/** What is put into the text of a body: things that a JSON writer never writes. */
const INSERTED = [
  'NaN',
  'Infinity',
  '1e999',
  '-',
  '01',
  '"a":1,"a":2,',
  '"name":"hers",',
  '"__proto__":{"x":1},',
  ',',
  '"',
  '\\',
  '\\u',
  '\\ud800',
]
  .concat([
    '\x00',
    '\xff',
    '\xc0\x80',
    '\xed\xa0\x80',
    '\xef\xbb\xbf',
    '// x\n',
    '/*',
    "'",
    '}',
    ']',
    utf8('\u2028'),
    utf8('é'),
  ])
  .concat([
    deep(40, '[', ']'),
    deep(2_000, '{"a":', '1}'),
    deep(100_000, '[', ''),
    '9'.repeat(400),
    ' '.repeat(300_000),
  ])
  .concat(['GET /workflows/tools/list?names=INSIDE HTTP/1.1\r\nHost: fuzz\r\n\r\n', '0\r\n\r\n', '\r\n\r\n'])

type TextChange = { readonly at: number; readonly kind: string; readonly text: string; readonly byte: number }
const textChange: fc.Arbitrary<TextChange> = fc.record({
  at: fc.nat(5_000),
  kind: fc.constantFrom('insert', 'cut', 'byte', 'repeat', 'front'),
  text: fc.oneof(fc.constantFrom(...INSERTED), oddText),
  byte: fc.nat(255),
})

function changedText(text: string, { at, kind, text: inserted, byte }: TextChange): string {
  const place = at % (text.length + 1)
  const [before, after] = [text.slice(0, place), text.slice(place)]
  if (kind === 'insert') return before + inserted + after
  if (kind === 'cut') return before
  if (kind === 'byte') return before + String.fromCharCode(byte) + after.slice(1)
  if (kind === 'front') return inserted + text
  return text + before.slice(0, 20_000)
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const fastBrotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const bytesIn = (text: string): Buffer => Buffer.from(text, 'latin1')

/** Compressed in the ways that Content-Encoding names. What a `$WORD$` stands for is not put in there. */
const ENCODINGS: readonly (readonly [name: string, encode: (text: string) => string])[] = [
  ['gzip', (text) => latin1(gzipSync(bytesIn(text)))],
  ['deflate', (text) => latin1(deflateSync(bytesIn(text)))],
  ['br', (text) => latin1(brotliCompressSync(bytesIn(text), fastBrotli))],
  ['GZIP', (text) => latin1(gzipSync(bytesIn(text)))],
  ['gzip', (text) => text],
  ['br', (text) => text],
  ['deflate', (text) => latin1(gzipSync(bytesIn(text)))],
  ['gzip', (text) => latin1(gzipSync(bytesIn(text)).subarray(0, -5))],
  ['gzip', (text) => latin1(gzipSync(bytesIn(text))) + 'behind it'],
  ['gzip, gzip', (text) => latin1(gzipSync(gzipSync(bytesIn(text))))],
  ['identity', (text) => text],
  ['zstd', (text) => text],
  ['', (text) => text],
]

const BOMB = Buffer.alloc(64 * 1024 * 1024, ' ')
let bombs: readonly OddBody[] | undefined
/** 64 MB of blanks, made once and only where a case asks for them. */
function bomb(index: number): OddBody {
  bombs ??= [
    { body: latin1(gzipSync(BOMB, { level: 1 })), headers: [['Content-Encoding', 'gzip']] },
    { body: latin1(deflateSync(BOMB, { level: 1 })), headers: [['Content-Encoding', 'deflate']] },
    { body: latin1(brotliCompressSync(BOMB, fastBrotli)), headers: [['Content-Encoding', 'br']] },
  ]
  return bombs[index % bombs.length] ?? { body: '', headers: [] }
}

/** A body for a route: one that it takes, changed as a value and then as a text, or as it is. */
export function oddBody(method: string, path: string): fc.Arbitrary<OddBody> {
  const text = fc
    .tuple(
      fc.constantFrom(...examplesOf(method, path)),
      fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: jsonChanges(oddValue) }),
      fc.oneof(
        { weight: 6, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(textChange, { maxLength: 2 }) },
      ),
    )
    .map(([example, changes, textChanges]) => {
      const value = changedJson(example, changes)
      return textChanges.reduce(changedText, utf8(typeof value === 'string' ? value : JSON.stringify(value)))
    })
  return fc.oneof(
    { weight: 40, arbitrary: text.map((body) => ({ body, headers: [] })) },
    {
      weight: 5,
      arbitrary: fc.tuple(text, fc.constantFrom(...ENCODINGS)).map(([body, [name, encode]]): OddBody => ({
        body: encode(body),
        headers: [['Content-Encoding', name]],
      })),
    },
    { weight: 1, arbitrary: fc.nat(2).map(bomb) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(256 * 1024, 256 * 1024 + 1, 1024 * 1024 + 1)
        .map((size) => ({ body: '[5]'.padEnd(size), headers: [] })),
    },
  )
}
