import fc from 'fast-check'
import type { Framing } from './fuzzed-request.ts'
import { oddValue } from './odd-bytes.ts'

type Header = readonly [name: string, value: string]

const TAGS = [
  '*',
  '"$HER_DIGEST$"',
  'W/"$HER_DIGEST$"',
  '"$HER_SHA256$"',
  '"a", "b"',
  '""',
  '"',
  'a',
  '"a',
  '*, "a"',
  '"x"'.repeat(2_000),
]
const TYPES = [
  'application/json',
  'application/json; charset=latin1',
  'application/json; charset="',
  'multipart/form-data; boundary=x',
  'text/x-python',
  'image/png',
  'application/octet-stream',
  '/',
  ';',
  'a/b; '.repeat(500),
]

/** Headers that the service or Node gives a meaning to, with values right and wrong. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'If-Match': TAGS,
  'If-None-Match': TAGS,
  'Content-Type': TYPES,
  Accept: ['*/*', 'text/html', 'application/xml;q=0.9'],
  'Accept-Encoding': ['gzip', 'br', '*;q=0'],
  Expect: ['100-continue', '100-Continue', 'a miracle', ''],
  Connection: ['close', 'keep-alive', 'Upgrade', 'Content-Length', 'Transfer-Encoding, close'],
  Upgrade: ['websocket', 'h2c', 'TLS/1.0'],
  'HTTP2-Settings': ['AAMAAABkAARAAAAAAAIAAAAA'],
  Authorization: [
    'Bearer',
    'Bearer ',
    'bearer x',
    'Basic dTpw',
    'Bearer a.b.c',
    'Bearer e30.e30.',
    `Bearer ${'x'.repeat(20_000)}`,
  ],
  'X-User-Id': ['bob', 'ann', '../bob', '', 'x'.repeat(200)],
  'X-Forwarded-For': ['127.0.0.1'],
  'X-HTTP-Method-Override': ['DELETE', 'PUT'],
  'X-Original-URL': ['/workflows/tools/defs/hers'],
  Origin: ['https://app.example', 'https://evil.example', 'null'],
  'Access-Control-Request-Method': ['DELETE', 'PURGE'],
  'Access-Control-Request-Headers': ['x-anything'],
  'Idempotency-Key': ['k', 'k'.repeat(5_000), ''],
  traceparent: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', '00-', 'x'.repeat(500)],
  Host: ['', 'other', 'a b', '[::1', 'fuzz:99999'],
  Range: ['bytes=0-1', 'bytes=9-1'],
  Cookie: ['a=b; '.repeat(100)],
  Trailer: ['Authorization'],
  TE: ['trailers'],
  'Keep-Alive': ['timeout=0, max=1'],
  'Proxy-Connection': ['keep-alive'],
  'X-Odd': ['x'],
  'X Y': ['a name with a blank'],
  '': ['no name'],
}

const header: fc.Arbitrary<Header> = fc
  .tuple(fc.constantFrom(...Object.keys(VALUES)), fc.nat(20), fc.option(oddValue, { freq: 4 }))
  .map(([name, index, odd]) => {
    const values = VALUES[name] ?? ['x']
    return [name, odd ?? values[index % values.length] ?? ''] as const
  })

const many: fc.Arbitrary<readonly Header[]> = fc
  .constantFrom(100, 1_990, 2_100)
  .map((length) => Array.from({ length }, (_, index) => [`X-${index}`, 'y'] as const))

export const oddHeaders: fc.Arbitrary<readonly Header[]> = fc.oneof(
  { weight: 24, arbitrary: fc.constant([]) },
  { weight: 8, arbitrary: fc.array(header, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: header.map((one) => [one, one]) },
  { weight: 1, arbitrary: many },
)

/** Header lines of which none says where the body ends, or two say it differently. `N` stands for its true length. */
const UNCLEAR: readonly (readonly string[])[] = [
  ['Content-Length: N', 'Transfer-Encoding: chunked'],
  ['Transfer-Encoding: chunked', 'Content-Length: N'],
  ['Content-Length: N', 'Content-Length: 0'],
  ['Content-Length: 0', 'Content-Length: N'],
  ['Content-Length: N, N'],
  ['Content-Length: +N'],
  ['Content-Length: -N'],
  ['Content-Length: -1'],
  ['Content-Length: 0xN'],
  ['Content-Length: N.0'],
  ['Content-Length: Nx'],
  ['Content-Length: 99999999999999999999999'],
  ['Content-Length : N'],
  ['Content-Length:\x0bN'],
  ['Transfer-Encoding: xchunked'],
  ['Transfer-Encoding: chunked, identity'],
  ['Transfer-Encoding: identity'],
  ['Transfer-Encoding: gzip'],
  ['Transfer-Encoding : chunked'],
  ['Transfer-Encoding: \x0bchunked'],
  ['Transfer-Encoding: chunked\x00'],
  [' Transfer-Encoding: chunked'],
  ['X: y\rTransfer-Encoding: chunked', 'Content-Length: N'],
  ['X: y\nContent-Length: 0', 'Content-Length: N'],
]

const BROKEN_CHUNKS = [
  '-1\r\n',
  'zz\r\n',
  '0x5\r\n',
  'ffffffffffffffffff\r\n',
  '5\n',
  '5 5\r\n',
  '5\r',
  '+5\r\nabcde\r\n',
  '3\r\nabcde\r\n',
  '\r\n',
  // A trailer that would change where the body ends.
  '0\r\nContent-Length: 5\r\n\r\n',
]

export const framing: fc.Arbitrary<Framing> = fc.oneof(
  { weight: 80, arbitrary: fc.constant<Framing>({ as: 'length' }) },
  { weight: 2, arbitrary: fc.constant<Framing>({ as: 'none' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      as: fc.constant('chunks' as const),
      extension: fc.constantFrom('', ';a=b', ';a="b;c"', `;${'e'.repeat(2_000)}`),
      trailers: fc.constantFrom('', 'X-Trailer: y\r\n', 'Authorization: Bearer x\r\n'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ as: fc.constant('short' as const), by: fc.nat(40) }) },
  {
    weight: 2,
    arbitrary: fc.record({ as: fc.constant('long' as const), by: fc.integer({ min: 1, max: 300_000 }) }),
  },
  { weight: 3, arbitrary: fc.constantFrom(...UNCLEAR).map((lines): Framing => ({ as: 'unclear', lines })) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...BROKEN_CHUNKS).map((start): Framing => ({ as: 'broken chunks', start })),
  },
)
