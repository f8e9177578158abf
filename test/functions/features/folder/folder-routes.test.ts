import { afterAll, expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApp } from '../../../../functions/src/hosts/services.ts'
import { listen, stopListening } from '../../../../functions/src/hosts/local/listen.ts'
import type { Services } from '../../../../functions/src/hosts/services.ts'
import type { Runner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { errorAnswer } from '../../../support/error-answer.ts'
import { inProcess } from '../../../support/in-process.ts'
import { moduleOf } from '../../../support/modules.ts'
import { checkedModule, readingRunner, textIn } from '../../../support/reading-runner.ts'
import { NO_PARTS } from '../../../support/route-table.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from '../../../support/token-kinds.ts'
import { until } from '../../../support/until.ts'

const folder = temporaryFolder()
writeFileSync(join(folder.path, 'notes.py'), moduleOf('notes', 'a'))
writeFileSync(join(folder.path, 'raising.py'), '1 / 0')

/** Takes every module but one, whose import it says has raised. */
const runner: Runner = {
  ...readingRunner(),
  check({ name, ...module }) {
    const checked = checkedModule(textIn(module))
    const raised = { code: 'MODULE_BROKEN', kind: 'import_raised', message: 'It raised.' } as const
    const faults = name === 'raising' ? [{ ...raised, traceback: 'line 1: KEPT' }] : []
    return Promise.resolve({ ...checked, faults })
  },
}
const access = deployedAccess(() => NOW)
const service = await inProcess(access, [], () => NOW, { runner, toolsFolders: [folder.path] })
const without = await inProcess(access, [], () => NOW)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await without[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` })
const USER = bearer(signed(FIREBASE, { sub: 'ann' }))
const ADMIN = bearer(signed(FIREBASE, { sub: 'root', toolrackAdmin: true }))
const ACCOUNT = { ...bearer(signed(OIDC)), 'X-User-Id': 'ann' }
const TOKEN_JOB = bearer(signed(JOB, { uid: 'ann', tools: [], jti: 'ann' }))

const ask = (
  path: string,
  headers: Record<string, string>,
  method = 'GET',
  { url }: { readonly url: string } = service,
): Promise<Response> => fetch(`${url}/api${path}`, { headers, method })

async function settled(headers: Record<string, string>): Promise<Record<string, unknown>> {
  return until(
    async () => (await (await ask('/tools', headers)).json()) as Record<string, unknown>,
    ({ checking }) => Array.isArray(checking) && checking.length === 0,
  )
}

test('a user sees the tools, their files and what is left out, but neither the path nor a traceback', async () => {
  const body = await settled(USER)
  expect(body).toMatchObject({
    status: 'watched',
    tools: [{ name: 'notes:a', file: 'notes.py' }],
    skipped: [{ file: 'raising.py', reason: 'MODULE_BROKEN', kind: 'import_raised', message: 'It raised.' }],
  })
  expect(body).not.toHaveProperty('folder')
  expect(JSON.stringify(body)).not.toMatch(/KEPT|toolrack-test/)
  const one = (await (await ask('/tools/notes__a', USER)).json()) as object
  expect(one).toMatchObject({ name: 'notes:a', definition: { function: { name: 'notes:a' } } })
  expect(one).not.toHaveProperty('report')
})

test('an admin sees them too', async () => {
  expect(await settled(ADMIN)).toMatchObject({
    folder: folder.path,
    skipped: [{ traceback: 'line 1: KEPT' }],
  })
  expect(await (await ask('/tools/notes:a', ADMIN)).json()).toMatchObject({ report: { accepted: true } })
})

test('only an admin may have the folder read anew', async () => {
  expect(await errorAnswer(await ask('/tools/refresh', USER, 'POST'))).toMatchObject({
    httpStatus: 403,
    reason: 'PERMISSION_DENIED',
    message: 'Only an admin may refresh the folder of modules.',
  })
  const answer = await ask('/tools/refresh', ADMIN, 'POST')
  expect(await answer.json()).toMatchObject({ checking: [], tools: { unchanged: ['notes:a'] } })
})

test.each([
  ['an account', ACCOUNT],
  ['a job token', TOKEN_JOB],
])('jobs have no door to /api: %s is a 401 on each route', async (_who, headers) => {
  for (const [method, path] of [
    ['GET', '/tools'],
    ['GET', '/tools/notes:a'],
    ['POST', '/tools/refresh'],
  ] as const)
    expect((await ask(path, headers, method)).status).toBe(401)
})

test.each(['/tools', '/tools/notes:a'])('a parameter that %s does not know is a 400', async (path) => {
  expect(await errorAnswer(await ask(`${path}?names=a`, USER))).toMatchObject({ reason: 'PARAMETER_UNKNOWN' })
})

test('where no folder is, the list is empty and says why, one tool is a 404, and a refresh changes nothing', async () => {
  const none = { status: 'none', reason: expect.stringMatching(/^No folder of modules is watched here/) }
  const list = await ask('/tools', USER, 'GET', without)
  expect(await list.json()).toEqual({ ...none, checking: [], tools: [], skipped: [] })
  expect(await errorAnswer(await ask('/tools/notes:a', USER, 'GET', without))).toMatchObject({
    httpStatus: 404,
    reason: 'TOOL_NOT_FOUND',
  })
  const refreshed = await ask('/tools/refresh', ADMIN, 'POST', without)
  expect(await refreshed.json()).toMatchObject({ ...none, folder: null, tools: { added: [], removed: [] } })
})

test('of the two functions only workflows answers /api', async () => {
  const services = { ...NO_PARTS, corsOrigins: [], log: { error: () => undefined } } as unknown as Services
  const [jobs, workflows] = await Promise.all(
    (['jobs', 'workflows'] as const).map((family) =>
      listen(createApp({ ...services, authenticate: access.authenticate }, family), '127.0.0.1', 0),
    ),
  )
  for (const [listening, status] of [
    [jobs, 404],
    [workflows, 401],
  ] as const) {
    expect((await fetch(`${listening?.url}/api/tools`)).status).toBe(status)
    if (listening) await stopListening(listening)
  }
})
