import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { text } from 'node:stream/consumers'
import { Secrets } from '../../packages/client/src/index.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { refusal } from './scripted-service.ts'

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

test('secrets are stored, listed and deleted in their layer', async () => {
  const listed = [{ name: 'KEY', layer: 'global', updatedAt: '2026-01-02T03:04:05.000Z' }]
  const bodies: string[] = []
  server.answers = [
    async (req, res) => {
      bodies.push(await text(req))
      res.writeHead(204).end()
    },
    json({ items: listed, cursor: null }),
    (_req, res) => res.writeHead(204).end(),
  ]
  const secrets = new Secrets({ service: server.origin, token: 't', layer: 'global' })
  await secrets.put('KEY', 'a value to hide')
  expect(await secrets.list()).toEqual(listed)
  await secrets.delete('KEY')
  expect(bodies).toEqual(['{"value":"a value to hide"}'])
  expect(server.asked.map(({ method, url }) => `${method ?? ''} ${url ?? ''}`)).toEqual([
    'PUT /workflows/secrets/KEY?layer=global',
    'GET /workflows/secrets?layer=global',
    'DELETE /workflows/secrets/KEY?layer=global',
  ])
})

test('an impossible name is not sent, and a refusal has its reason', async () => {
  server.answers = [refusal(403, 'PERMISSION_DENIED', 'No.')]
  const secrets = new Secrets({ service: server.origin, token: 't' })
  await expect(secrets.put('../x', 'a value to hide')).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  await expect(secrets.put('KEY', 'a value to hide')).rejects.toMatchObject({
    code: 'SERVICE_REFUSED',
    reason: 'PERMISSION_DENIED',
  })
})
