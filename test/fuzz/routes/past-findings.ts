import { familyOf, SENDERS } from './people.ts'
import type { Framing, FuzzedRequest } from './fuzzed-request.ts'

/** Requests for what is Bob's, by everybody. No seed is needed for these. */
const BOBS = ['invocations/$BOBS_CALL$/log', 'defs/bobs_tool', 'defs/bobs_tool/versions', 'modules/vault']
  .concat(['modules/vault/versions', 'explain?name=bobs_tool', 'list?names=bobs_tool,vault:look'])
  .flatMap((path) =>
    SENDERS.map((sender) => early({ as: 'none' }, { sender, target: `/${familyOf(sender)}/tools/${path}` })),
  )

/** A request of Ann's that is answered before its body is read. */
function early(framing: Framing, more: Partial<FuzzedRequest> = {}): FuzzedRequest {
  return {
    sender: 'ann',
    method: 'GET',
    target: '/api/tools/hers',
    version: 'HTTP/1.1',
    headers: [],
    body: '{"a":1}',
    pieces: 1,
    framing,
    ...more,
  }
}

/** What a fuzzer or a person has found once. Each is tried before anything else, whatever the seed. */
export const PAST_FINDINGS: readonly FuzzedRequest[] = [
  ...BOBS,
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
