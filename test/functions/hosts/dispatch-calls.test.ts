import { expect, test } from '@jest/globals'
import { toolFailure, toolResult } from '@toolrack/contract'
import type { ToolrackError } from '@toolrack/contract'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HeldResults } from '../../../functions/src/features/calling/held-results.ts'
import type { Asked } from '../../../functions/src/calls/call.ts'
import type { RuledCatalog } from '../../../functions/src/features/rules/ruled-catalog.ts'
import type { Invoker } from '../../../functions/src/calls/pipeline/invoker.ts'
import { serveRoutes } from '../../../functions/src/http/serve-routes.ts'
import { callRoutes } from '../../../functions/src/features/calling/call-routes.ts'
import { rawConnection } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'

const MB = 1024 * 1024
const BODY = JSON.stringify(
  Array.from({ length: 64 }, (_, index) => ({ type: 'tool_use', id: `c${index}`, name: 'T', input: {} })),
)

const authenticate = ({ authorization = '' }) =>
  ({ kind: 'user', uid: authorization, isAdmin: false }) as const

test('results that nobody reads are bounded for each user, and let go when the connection has gone', async () => {
  const heldResults = new HeldResults(8 * MB)
  let run = 0
  const invoker = {
    async invoke({ read }: Asked) {
      try {
        await read()
      } catch (error) {
        const { code, message } = error as ToolrackError
        return { result: { ...toolFailure(code, message), meta: {} } }
      }
      run += 1
      return { result: { ...toolResult('é'.repeat(MB / 4)), meta: {} } }
    },
  } as unknown as Invoker
  const listed = { view: () => Promise.reject(new Error('no list is read here')) } as unknown as RuledCatalog
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const table = callRoutes({ invoker, heldResults, listed })
  const server = createServer(serveRoutes(table, { authenticate, corsOrigins: [], log })).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = (user: string) =>
    fetch(`${url}/workflows/tools/dispatch`, { method: 'POST', headers: { authorization: user }, body: BODY })
  try {
    const socket = await rawConnection(url)
    socket.on('error', () => undefined).pause()
    socket.write(
      `POST /workflows/tools/dispatch HTTP/1.1\r\nHost: x\r\nAuthorization: ann\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    )
    await until(
      () => Promise.resolve(heldResults.bytes('ann')),
      (bytes) => bytes === 8 * MB,
    )
    expect(run).toBe(32)
    const refused = await ask('ann')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.text()).toMatch(/SERVICE_BUSY.*not read yet|not read yet.*SERVICE_BUSY/)
    const other = await ask('bob')
    expect(other.status).toBe(200)
    expect((await other.text()).match(/not read yet take too many bytes; nothing was run/g)).not.toBeNull()
    socket.destroy()
    await until(
      () => Promise.resolve([heldResults.bytes('ann'), heldResults.bytes('bob')]),
      (bytes) => bytes.every((each) => each === 0),
    )
    const again = await ask('ann')
    expect(again.status).toBe(200)
    await again.body?.cancel()
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
