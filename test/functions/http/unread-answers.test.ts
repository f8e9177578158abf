import { expect, test } from '@jest/globals'
import { READ } from '../../../functions/src/access/action.ts'
import type { RequestListener, ServerResponse } from 'node:http'
import { UnreadAnswers, unreadBudget } from '../../../functions/src/http/unread-answers.ts'
import type { UnreadState } from '../../../functions/src/http/unread-answers.ts'
import { serveRoutes } from '../../../functions/src/http/serve-routes.ts'
import { sendJson } from '../../../functions/src/http/send-json.ts'
import { route } from '../../../functions/src/http/route.ts'
import { listen, stopListening } from '../../../functions/src/hosts/local/listen.ts'
import { rawConnection } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'

const MB = 1024 * 1024
const LARGE = 'x'.repeat(12 * MB)
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

const answer = ({ res }: { readonly res: ServerResponse }): void => sendJson(res, 200, LARGE)

/** Serves answers of 12 MB to users whose token is their name; 30 MB may wait for one of them. */
async function served(unread: UnreadAnswers): Promise<{ readonly url: string } & AsyncDisposable> {
  const action = READ
  const app: RequestListener = serveRoutes(
    [
      route({ method: 'GET', path: '/large', action, handle: answer }),
      route({ method: 'POST', path: '/large', action, handle: answer }),
    ],
    {
      authenticate: ({ authorization = '' }) => ({ kind: 'user', uid: authorization, isAdmin: false }),
      corsOrigins: [],
      log,
      unread,
    },
  )
  const listening = await listen(app, '127.0.0.1', 0)
  return { url: `${listening.url}/workflows/large`, [Symbol.asyncDispose]: () => stopListening(listening) }
}

/** A connection that has asked and reads nothing. */
async function unreadAsk(url: string, method: string, who: string) {
  const socket = await rawConnection(url)
  socket.pause()
  socket.on('error', () => undefined)
  socket.write(`${method} /workflows/large HTTP/1.1\r\nHost: x\r\nAuthorization: ${who}\r\n\r\n`)
  return socket
}

const seen = (unread: UnreadAnswers, isWanted: (state: UnreadState) => boolean): Promise<UnreadState> =>
  until(() => Promise.resolve(unread.state), isWanted)

const ask = (url: string, who: string, method = 'GET'): Promise<Response> =>
  fetch(url, { method, headers: { Authorization: who } })

test('one user has a bounded number of bytes that wait for readers, until they are taken or the reader goes', async () => {
  const unread = new UnreadAnswers(30 * MB)
  await using server = await served(unread)
  const idle = [await unreadAsk(server.url, 'GET', 'ann'), await unreadAsk(server.url, 'GET', 'ann')]
  await seen(unread, ({ bytes }) => bytes > 24 * MB)
  const refused = await ask(server.url, 'ann')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.json()).toMatchObject({ error: { details: [{ reason: 'SERVICE_BUSY' }] } })
  expect((await (await ask(server.url, 'bob')).text()).length).toBeGreaterThan(12 * MB)
  idle[0]?.destroy()
  await seen(unread, ({ bytes }) => bytes < 24 * MB)
  expect((await (await ask(server.url, 'ann')).text()).length).toBeGreaterThan(12 * MB)
  idle[1]?.resume()
  await seen(unread, ({ users }) => users === 0)
  idle[1]?.destroy()
})

test('an answer that tells of what was done is sent in any case, and the next request is refused', async () => {
  const unread = new UnreadAnswers(20 * MB)
  await using server = await served(unread)
  const idle = [await unreadAsk(server.url, 'POST', 'ann'), await unreadAsk(server.url, 'POST', 'ann')]
  await seen(unread, ({ bytes }) => bytes > 24 * MB)
  for (const method of ['GET', 'POST']) expect((await ask(server.url, 'ann', method)).status).toBe(429)
  for (const socket of idle) socket.destroy()
  await seen(unread, ({ users }) => users === 0)
})

test('64 MB may wait for one user, and an eighth of a large heap', () => {
  expect([unreadBudget(0), unreadBudget(4096 * MB)]).toEqual([64 * MB, 512 * MB])
})
