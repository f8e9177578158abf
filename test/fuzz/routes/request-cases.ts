import fc from 'fast-check'
import { TABLE } from '../../support/route-table.ts'
import type { FuzzedRequest } from './fuzzed-request.ts'
import { oddBody } from './odd-body.ts'
import { framing, oddHeaders } from './odd-headers.ts'
import { oddTarget } from './odd-target.ts'
import { SENDERS } from './people.ts'
import type { Sender } from './people.ts'

const METHODS = [
  'GET',
  'HEAD',
  'PUT',
  'POST',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'PURGE',
  'QUERY',
].concat(['BREW', 'get', 'G E T', '', 'GET\x00', 'PRI'])

/** Of each route of the table, at each of its addresses: so a new route is tried at once. */
const PLACES = TABLE.flatMap(({ method, path, addresses }) =>
  addresses.map(({ address }) => ({ method, path, address })),
)

/** Ann most of all: who may do nothing is refused before anything is read. */
const sender: fc.Arbitrary<Sender> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Sender>('ann') },
  { weight: 2, arbitrary: fc.constantFrom(...SENDERS) },
)

/** One request to some route, more or less as that takes it. */
export const requestCases: fc.Arbitrary<FuzzedRequest> = fc
  .constantFrom(...PLACES)
  .chain(({ method, path, address }) =>
    fc.record({
      sender: address.startsWith('/jobs')
        ? fc.oneof({ weight: 4, arbitrary: fc.constant<Sender>('job') }, sender)
        : sender,
      method: fc.oneof(
        { weight: 12, arbitrary: fc.constant<string>(method) },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      target: oddTarget(address),
      version: fc.oneof(
        { weight: 40, arbitrary: fc.constant('HTTP/1.1') },
        {
          weight: 1,
          arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'HTTP/1.2', 'ICE/1.0', ''),
        },
      ),
      headers: oddHeaders,
      sent:
        method === 'GET'
          ? fc.oneof(
              { weight: 4, arbitrary: fc.constant({ body: '', headers: [] }) },
              { weight: 1, arbitrary: oddBody(method, path) },
            )
          : oddBody(method, path),
      framing:
        method === 'GET'
          ? fc.oneof(
              { weight: 3, arbitrary: fc.constant({ as: 'none' } as const) },
              { weight: 1, arbitrary: framing },
            )
          : framing,
      pieces: fc.oneof(
        { weight: 8, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.integer({ min: 2, max: 9 }) },
      ),
    }),
  )
  .map(({ sent, headers, ...request }) => ({
    ...request,
    headers: [...headers, ...sent.headers],
    body: sent.body,
  }))
