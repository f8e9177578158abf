import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'

async function json(server: Server, path: string): Promise<JsonObject> {
  return (await (await server.fetch(path)).json()) as JsonObject
}

type Health = { readonly audit: { readonly fault: { readonly day: string; readonly place: string } | null } }
const healthOf = async (server: Server): Promise<Health['audit']> =>
  ((await json(server, '/health')) as unknown as Health).audit

/** Changes the file as somebody does who can write it. */
function tamper(server: Server, from: string, to: string): void {
  const database = new DatabaseSync(join(server.data, 'audit.sqlite'))
  database.exec(
    `BEGIN; INSERT INTO opened VALUES (1); UPDATE records SET text = replace(text, '${from}', '${to}') WHERE seq = 2; DELETE FROM opened; COMMIT`,
  )
  database.close()
}

test('the start and /health say that the trail was changed, and no longer when it is as it was', async () => {
  await using server = await Server.start()
  for (let call = 0; call < 3; call += 1) {
    const body = JSON.stringify({ name: 'ECHO', arguments: { text: 'hello' } })
    await (await server.fetch('/workflows/tools/invoke', { method: 'POST', body })).text()
  }
  expect(await healthOf(server)).toMatchObject({ mode: 'on', lost: 0, fault: null })
  await server.stop()
  tamper(server, '"outcome":"ok"', '"outcome":"no"')
  await server.restart()
  const { fault } = await until(
    () => healthOf(server),
    (audit) => audit.fault !== null,
  )
  expect(fault).toEqual({
    day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    place: expect.stringMatching(/^record 2 of local-/),
    reason: expect.stringContaining('something in it was changed'),
  })
  expect(server.log).toMatch(/^error the audit trail does not verify: .*"place":"record 2 of local-/m)
  // Who has no token reads nothing of it.
  const answer = await fetch(`${server.url}/health`)
  expect(await answer.json()).not.toHaveProperty('audit')

  await server.stop()
  tamper(server, '"outcome":"no"', '"outcome":"ok"')
  await server.restart()
  expect(await json(server, '/workflows/audit/verify')).toMatchObject({ ok: true })
  expect((await healthOf(server)).fault).toBeNull()
  expect(server.log).toBe('')
})
