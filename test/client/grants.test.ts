import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { text } from 'node:stream/consumers'
import { Grants } from '../../packages/client/src/index.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { refusal } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

const grants = (): Grants => new Grants({ service: server.origin, token: 't' })
const DIGEST = `sha256:${'a'.repeat(64)}` as const
const STATE = { module: 'm', layer: 'user', grants: [], grantsDigest: DIGEST, state: 'pending' }
const WAITS = { ...STATE, tools: ['m:one'] }

test('what waits is listed, accepted with its digest, and revoked', async () => {
  const bodies: string[] = []
  const accepted = json({ ...STATE, state: 'accepted' })
  server.answers = [
    json({ items: [WAITS] }),
    (req, res) => void text(req).then((body) => (bodies.push(body), accepted(req, res))),
    json(STATE),
  ]
  const [waiting] = await grants().pending()
  expect([waiting, waiting?.tools]).toEqual([WAITS, ['m:one']])
  expect(await grants().accept('m', DIGEST)).toMatchObject({ state: 'accepted' })
  expect(await grants().revoke('m', 'global')).toMatchObject({ state: 'pending' })
  expect(bodies).toEqual([JSON.stringify({ digest: DIGEST })])
  expect(server.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /workflows/tools/grants?state=pending',
    'POST /workflows/tools/modules/m/grants?layer=user',
    'DELETE /workflows/tools/modules/m/grants?layer=global',
  ])
})

test('a refusal has the code of the service, and a name that no module has is sent nowhere', async () => {
  server.answers = [refusal(409, 'DIGEST_CHANGED', 'No.')]
  await expect(grants().accept('m', DIGEST)).rejects.toMatchObject({
    code: 'SERVICE_REFUSED',
    reason: 'DIGEST_CHANGED',
  })
  expect(() => grants().revoke('../other')).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  expect(server.asked).toHaveLength(1)
})
