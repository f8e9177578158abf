import { NOT_AN_APPROVER } from '../../functions/src/access/action.ts'
import { afterAll, expect, test } from '@jest/globals'
import { join } from 'node:path'
import type { Principal } from '../../functions/src/access/principal.ts'
import { createApp } from '../../functions/src/hosts/services.ts'
import { FileLayer } from '../../functions/src/stores/files/file-layer.ts'
import { FAMILIES } from '../../functions/src/http/route.ts'
import { listen, stopListening } from '../../functions/src/hosts/local/listen.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import { closeServices, createServices } from '../../functions/src/hosts/services.ts'
import { SqliteDefinitionStore } from '../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { FAMILY_ROUTES } from '../support/route-table.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { memoryGovernance } from '../support/memory-governance.ts'
import { memoryInvocationLogs } from '../support/memory-invocation-logs.ts'

/** The local token is always an admin, so the one who is not comes in through the door that is meant for it: `authenticate`. */
const guest: Principal = { kind: 'user', uid: 'guest', isAdmin: false }
const folder = temporaryFolder()
const services = createServices({
  store: () => new SqliteDefinitionStore(join(folder.path, 'toolrack.db')),
  files: (compilers) =>
    new FileLayer('functions/workflows/tools/defs', compilers, {
      ownFolder: 'functions/workflows/tools/own',
    }),
  authenticate: () => Promise.resolve(guest),
  logs: memoryInvocationLogs(),
  governance: memoryGovernance(),
  runner: absentRunner('No runner belongs to this test.'),
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  corsOrigins: [],
})
const listening = await listen(createApp(services), '127.0.0.1', 0)
afterAll(async () => {
  await stopListening(listening)
  await closeServices(services)
  folder[Symbol.dispose]()
})

/** A valid body of each route that writes; a new one must be added here. */
const BODIES: Readonly<Record<string, string | null>> = {
  'POST /tools/defs': '[{"name":"READ_FILE","description":"Mine."}]',
  'PUT /tools/defs/:name': '{"description":"Mine."}',
  'DELETE /tools/defs/:name': null,
  'POST /tools/defs/:name/rollback': '{"revision":"1-0"}',
  'PUT /tools/modules/:name': 'TOOL_SPECS = []',
  'DELETE /tools/modules/:name': null,
  'POST /tools/modules/:name/rollback': '{"revision":"1-0"}',
  'POST /tools/modules/:name/grants': '{"digest":"sha256:0"}',
  'DELETE /tools/modules/:name/grants': null,
}
/** Calls and prompts write nothing, and know no layer. */
const CALLS = new Set(['/tools/invoke', '/tools/dispatch', '/tools/dispatch/complete', '/tools/wrap'])
const WRITING = FAMILIES.flatMap((family) =>
  FAMILY_ROUTES.filter(
    ({ method, path }) => method !== 'GET' && path.startsWith('/tools/') && !CALLS.has(path),
  ).map(
    ({ method, path }) =>
      [method, `/${family}${path.replace(':name', 'READ_FILE')}`, `${method} ${path}`] as const,
  ),
)

test.each(WRITING)(
  '%s %s of the global layer is a 403 with its reason for who is no admin',
  async (method, path, route) => {
    const body = BODIES[route]
    expect(body).toBeDefined()
    const answer = await fetch(`${listening.url}${path}?layer=global`, { method, body: body ?? null })
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    expect(await errorAnswer(answer)).toMatchObject({
      httpStatus: 403,
      reason: 'PERMISSION_DENIED',
      message: path.endsWith('/grants') ? NOT_AN_APPROVER : 'Only an admin may write the global layer.',
    })
    const health = await fetch(`${listening.url}/health`)
    expect(await health.json()).toMatchObject({ layers: { global: { definitions: 0 } } })
  },
)

test('who is no admin still writes a layer of their own, and reads every layer', async () => {
  const url = `${listening.url}/workflows/tools/defs`
  const written = await fetch(`${url}/MINE`, { method: 'PUT', body: '{"description":"Mine."}' })
  expect(written.status).toBe(201)
  for (const layer of ['user', 'global', 'file'])
    expect((await fetch(`${url}?layer=${layer}`)).status).toBe(200)
})

test.each(['PUT', 'DELETE'])(
  '%s of the file layer is refused with the layers that can be written',
  async (method) => {
    const url = `${listening.url}/workflows/tools/defs/READ_FILE?layer=file`
    const body = method === 'PUT' ? '{"description":"Mine."}' : null
    const answer = await errorAnswer(await fetch(url, { method, body }))
    expect(answer).toMatchObject({ httpStatus: 400, reason: 'PARAMETER_INVALID' })
    expect(answer.message).toBe('The parameter layer must be user or global.')
  },
)
