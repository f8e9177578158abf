import type { Framing, FuzzedRequest } from './fuzzed-request.ts'

/** A request of Ann's that is answered before its body is read. */
const early = (framing: Framing, more: Partial<FuzzedRequest> = {}): FuzzedRequest => ({
  sender: 'ann',
  method: 'GET',
  target: '/api/tools/hers',
  version: 'HTTP/1.1',
  headers: [],
  body: '{"a":1}',
  pieces: 1,
  framing,
  ...more,
})

/** What a fuzzer or a person has found once. Each is tried before anything else, whatever the seed. */
export const PAST_FINDINGS: readonly FuzzedRequest[] = [
  // Answered twice: as a request, and then as one that is malformed.
  early({ as: 'broken chunks', start: '-1\r\n' }),
  early({ as: 'broken chunks', start: '0\r\nContent-Length: 5\r\n\r\n' }),
  early({ as: 'long', by: 169_362 }),
  early(
    { as: 'broken chunks', start: 'zz\r\n' },
    { method: 'HEAD', target: '/jobs/tools/defs/hers/versions' },
  ),
  early(
    { as: 'unclear', lines: ['Transfer-Encoding: xchunked'] },
    { method: 'PUT', target: '/jobs/tools/modules/hers' },
  ),
  early({ as: 'broken chunks', start: '-1\r\n' }, { headers: [['Expect', '']] }),
  // What followed it was answered in its place.
  early(
    { as: 'short', by: 3 },
    { method: 'POST', target: '/workflows/tools/invoke', body: '{"name":"notes:write"}\n\n?' },
  ),
]
