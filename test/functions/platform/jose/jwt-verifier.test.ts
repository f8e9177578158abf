import { afterEach, expect, test } from '@jest/globals'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { firebaseAccess } from '../../../../functions/src/hosts/authentication.ts'
import { firebaseTokens } from '../../../../functions/src/platform/jose/jwt-verifier.ts'
import { NOW, publicJwk, signed } from '../../../support/signed-tokens.ts'
import { FIREBASE, PROJECT } from '../../../support/token-kinds.ts'

let server: Server | undefined
afterEach(() => void server?.close())

/** A publisher of keys; port 0 takes a free one. */
async function publisher(answer: RequestListener, port = 0): Promise<string> {
  server = createServer(answer).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
}

const keys = JSON.stringify({ keys: [publicJwk(FIREBASE.key)] })
const verifier = (url: string) => firebaseTokens(PROJECT, () => NOW, { url })

test('keys are fetched from their address, once', async () => {
  let fetched = 0
  const verify = verifier(await publisher((_req, res) => res.end((fetched++, keys))))
  expect(fetched).toBe(0)
  for (let asked = 0; asked < 3; asked += 1)
    expect(await verify(signed(FIREBASE))).toMatchObject({ sub: 'ann' })
  expect(fetched).toBe(1)
})

test('a token whose header can not be right is refused without a look at the keys', async () => {
  let fetched = 0
  const verify = verifier(await publisher((_req, res) => res.end((fetched++, keys))))
  const header = { alg: 'none' }
  for (const token of ['x', 'a.b.c', signed(FIREBASE, {}, header), signed(FIREBASE, {}, { kid: undefined })])
    await expect(verify(token)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  expect(fetched).toBe(0)
})

test('a kid that the fetched keys do not have is a 401, and many of them are not many fetches', async () => {
  let fetched = 0
  const verify = verifier(await publisher((_req, res) => res.end((fetched++, keys))))
  for (let asked = 0; asked < 20; asked += 1)
    await expect(verify(signed(FIREBASE, {}, { kid: `k${asked}` }))).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    })
  expect(fetched).toBe(1)
})

test.each<[string, RequestListener]>([
  ['fails', (_req, res) => res.writeHead(500).end(keys)],
  ['is gone', (_req, res) => res.writeHead(404).end(keys)],
  ['leads elsewhere', (_req, res) => res.writeHead(302, { Location: '/other' }).end(keys)],
  ['cuts the connection', (_req, res) => res.destroy()],
  ['sends no JSON', (_req, res) => res.end('<html>')],
  ['sends no key set', (_req, res) => res.end('{"keys":{}}')],
  ['sends a broken key', (_req, res) => res.end(keys.replace(/"n":"[^"]+"/, '"n":5'))],
])('where the publisher of the keys %s, a genuine token is a 503 and never a 401', async (_what, answer) => {
  const verify = verifier(await publisher(answer))
  await expect(verify(signed(FIREBASE))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
})

test('where the keys can not be reached neither a genuine nor a forged token is accepted, and it works once they can', async () => {
  const url = await publisher((_req, res) => res.end(keys))
  const { port } = new URL(url)
  server?.close()
  const auth = {
    kind: 'firebase',
    projectId: PROJECT,
    emulator: false,
    jobAccounts: [],
    jobAudiences: [],
  } as const
  const { authenticate } = firebaseAccess(auth, undefined, () => NOW, { users: { url } })
  const ask = (token: string) =>
    authenticate({ authorization: `Bearer ${token}`, userId: undefined, family: 'workflows' })
  for (const token of [signed(FIREBASE), signed(FIREBASE, { sub: 'root' }).slice(0, -8)])
    await expect(ask(token)).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  await publisher((_req, res) => res.end(keys), Number(port))
  expect(await ask(signed(FIREBASE))).toMatchObject({ uid: 'ann' })
})
