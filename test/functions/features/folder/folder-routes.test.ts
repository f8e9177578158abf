import { afterAll, expect, test } from '@jest/globals'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApp } from '../../../../functions/src/hosts/services.ts'
import { listen, stopListening } from '../../../../functions/src/hosts/local/listen.ts'
import type { Services } from '../../../../functions/src/hosts/services.ts'
import { absentRunner } from '../../../../functions/src/catalog/definitions/runner.ts'
import type { Runner } from '../../../../functions/src/catalog/definitions/runner.ts'
import type { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { OWN_DEFS_DIR } from '../../../../functions/src/hosts/config.ts'
import { jsonLog, textLog } from '../../../../functions/src/log.ts'
import { FileLayer } from '../../../../functions/src/stores/files/file-layer.ts'
import { put, tool } from '../../../support/definition-changes.ts'
import { errorAnswer } from '../../../support/error-answer.ts'
import { inProcess } from '../../../support/in-process.ts'
import { moduleOf } from '../../../support/modules.ts'
import { writeOriginalFiles } from '../../../support/original-shapes.ts'
import { checkedModule, readingRunner, textIn } from '../../../support/reading-runner.ts'
import { NO_PARTS } from '../../../support/route-table.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from '../../../support/token-kinds.ts'
import { until } from '../../../support/until.ts'

const folder = temporaryFolder()
writeFileSync(join(folder.path, 'notes.py'), moduleOf('notes', 'a'))
writeFileSync(join(folder.path, 'raising.py'), '1 / 0')

/** Takes every module but those that divide by zero, whose import it says has raised. */
const runner: Runner = {
  ...readingRunner(),
  check(module) {
    const text = textIn(module)
    const checked = checkedModule(text)
    const raised = { code: 'MODULE_BROKEN', kind: 'import_raised', message: 'It raised.' } as const
    const faults = text.startsWith('1 / 0') ? [{ ...raised, traceback: 'line 1: KEPT' }] : []
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

type At = { readonly url: string }

const ask = (
  path: string,
  headers: Record<string, string>,
  method = 'GET',
  { url }: At = service,
): Promise<Response> => fetch(`${url}/api${path}`, { headers, method })

async function settled(headers: Record<string, string>): Promise<Record<string, unknown>> {
  return until(
    async () => (await (await ask('/tools', headers)).json()) as Record<string, unknown>,
    ({ checking }) => Array.isArray(checking) && checking.length === 0,
  )
}

type Refreshed = {
  readonly checking: unknown
  readonly skipped: readonly { readonly file: string }[]
  readonly tools: Readonly<Record<'added' | 'changed' | 'removed' | 'unchanged', readonly string[]>>
}

/** A service with a folder of its own, in which tests save and remove files. */
const changing = temporaryFolder()
const at = (file: string): string => join(changing.path, file)
const lines: string[] = []
const owned = { ...put(tool('owned:x')), revision: 'f1', source: 'a.json#/tools/0' }
const saved = await inProcess(access, [], () => NOW, {
  runner,
  toolsFolders: [changing.path],
  files: () => ({
    read: () =>
      Promise.resolve({ revision: 'f1', whole: true, definitions: [owned], deleted: [], skipped: [] }),
  }),
  log: jsonLog({ write: (line) => lines.push(line) }),
})
afterAll(async () => {
  await saved[Symbol.asyncDispose]()
  changing[Symbol.dispose]()
})

const refresh = async (): Promise<Refreshed> =>
  (await (await ask('/tools/refresh', ADMIN, 'POST', saved)).json()) as Refreshed

/** The answer to a user or an admin at a route of workflows. */
async function workflows(path: string, init: RequestInit = {}, { url }: At = saved): Promise<unknown> {
  return (await fetch(`${url}/workflows/tools/${path}`, { headers: USER, ...init })).json()
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

test('a name that a definitions file has stays there, and the module is told whose it is', async () => {
  writeFileSync(at('owned.py'), moduleOf('owned', 'x', 'y'))
  const { skipped } = await refresh()
  expect(skipped.filter(({ file }) => file === 'owned.py')).toMatchObject([
    {
      reason: 'NAME_TAKEN',
      kind: 'name_taken',
      name: 'owned:x',
      line: expect.any(Number),
      message: expect.stringMatching(
        /^owned\.py, line \d+: the name 'owned:x' is taken by a\.json#\/tools\/0\. .*rename/,
      ),
    },
  ])
  for (const name of ['owned:x', 'owned__x'])
    expect(await errorAnswer(await ask(`/tools/${name}`, USER, 'GET', saved))).toMatchObject({
      httpStatus: 404,
      message: expect.stringContaining('is taken by a.json#/tools/0'),
      details: [{ reason: 'NAME_TAKEN', file: 'owned.py' }],
    })
  expect(await workflows('explain?name=owned:x')).toMatchObject({ winner: 'file', callable: 'client' })
  expect(await workflows('explain?name=owned:y')).toMatchObject({ winner: 'file' })
})

async function digestOf(name: string): Promise<unknown> {
  const answer = await ask(`/tools/${name}`, USER, 'GET', saved)
  return ((await answer.json()) as { readonly digest: unknown }).digest
}

test('a definition and a module of a layer above stand in front of the folder’s, and are told so', async () => {
  writeFileSync(at('shade.py'), moduleOf('shade', 'a', 'b'))
  await refresh()
  const [a, b] = await Promise.all(['shade:a', 'shade:b'].map(digestOf))
  expect(a).toMatch(/^sha256:/)
  const definition = { method: 'PUT', body: JSON.stringify(tool('shade:b')) }
  expect(await workflows('defs/shade:b', definition)).toMatchObject({
    outcome: 'created',
    shadows: [{ layer: 'file', digest: b }],
  })
  const module = { method: 'PUT', headers: ADMIN, body: Buffer.from(moduleOf('shade', 'a')) }
  expect(await workflows('modules/shade?layer=global', module)).toMatchObject({
    shadows: [{ name: 'shade:a', layer: 'file', digest: a }],
  })
  expect(await workflows('explain?name=shade:a')).toMatchObject({ winner: 'global', shadowed: ['file'] })
  expect(await digestOf('shade:a')).toBe(a)
})

test('a refresh waits until all is checked, tells what has changed, and checks nothing twice', async () => {
  writeFileSync(at('changing.py'), moduleOf('changing', 'a'))
  await refresh()
  writeFileSync(at('changing.py'), moduleOf('changing', 'a', 'b'))
  const { checking, tools } = await refresh()
  expect(checking).toEqual([])
  // The watch may have been quicker than the request.
  expect([[], ['changing:b']]).toContainEqual(tools.added)
  expect([[], ['changing:a']]).toContainEqual(tools.changed)
  expect(await workflows('list?category=changing')).toMatchObject(
    ['changing:a', 'changing:b'].map((name) => ({ function: { name } })),
  )
  const { tools: again } = await refresh()
  expect({ ...again, unchanged: [] }).toEqual({ added: [], changed: [], removed: [], unchanged: [] })
  expect(again.unchanged).toEqual(expect.arrayContaining(['changing:a', 'changing:b']))
})

test('a program that collects the log gets one JSON line for each change, with every fault', async () => {
  const logged = () =>
    lines
      .map((line) => JSON.parse(line) as { readonly file?: string })
      .filter(({ file }) => file === 'logged.py')
  const changes = [
    () => writeFileSync(at('logged.py'), '1 / 0'),
    () => writeFileSync(at('logged.py'), moduleOf('logged', 'a')),
    () => rmSync(at('logged.py')),
  ]
  for (const [index, change] of changes.entries()) {
    change()
    await until(
      () => Promise.resolve(logged().length),
      (count) => count > index,
    )
    await workflows('list')
  }
  expect(logged()).toEqual([
    {
      severity: 'WARNING',
      message: 'module refused, with faults',
      file: 'logged.py',
      faults: ['It raised.'],
      serving: false,
    },
    { severity: 'INFO', message: 'module loaded', file: 'logged.py', tools: 1 },
    { severity: 'INFO', message: 'module removed', file: 'logged.py' },
  ])
  expect(lines.join('')).not.toContain('definition skipped')
})

test('without a runner the definitions files are served, each module waits with the reason, and a refresh does not', async () => {
  const reason = 'No Python was found: install one.'
  await using away = await inProcess(access, [tool('served')], () => NOW, {
    runner: absentRunner(reason),
    toolsFolders: [folder.path],
  })
  const waiting = ['notes.py', 'raising.py'].map((file) => ({ file, reason }))
  const answer = await (await ask('/tools/refresh', ADMIN, 'POST', away)).json()
  expect(answer).toMatchObject({ status: 'watched', checking: waiting, skipped: [], tools: { added: [] } })
  expect(await (await ask('/tools', USER, 'GET', away)).json()).toMatchObject({
    checking: waiting,
    skipped: [],
    tools: [],
  })
  expect(await workflows('list', {}, away)).toMatchObject([{ function: { name: 'served' } }])
  const health = await (await fetch(`${away.url}/health`, { headers: ADMIN })).json()
  expect(health).toMatchObject({ layers: { file: { status: 'fresh', skipped: [] } } })
})

test('a folder that is not there is told to be missing, and is watched when it is made later', async () => {
  using outer = temporaryFolder()
  const path = join(outer.path, 'home/tools')
  await using later = await inProcess(access, [], () => NOW, { runner, toolsFolders: [path] })
  const body = async () =>
    (await (await ask('/tools', ADMIN, 'GET', later)).json()) as { readonly tools: readonly unknown[] }
  expect(await body()).toMatchObject({ status: 'missing', folder: path, tools: [] })
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'notes.py'), moduleOf('notes', 'a'))
  const made = await until(body, ({ tools }) => tools.length > 0)
  expect(made).toMatchObject({ status: 'watched', folder: path, tools: [{ name: 'notes:a' }] })
})

/** A service whose definitions are the files of this folder, and what it logs. */
async function withFiles(path: string) {
  const log: string[] = []
  const files = (compilers: SchemaCompilers) => new FileLayer(path, compilers, { ownFolder: OWN_DEFS_DIR })
  const parts = { files, log: textLog({ write: (line) => log.push(line) }) }
  return { log, service: await inProcess(access, [], () => NOW, parts) }
}

test('a folder without a definition adds nothing to the tools of the service itself, and the log and /health say so', async () => {
  using empty = temporaryFolder()
  const { log, service } = await withFiles(empty.path)
  await using other = service
  const listed = await fetch(`${other.url}/workflows/tools/list?strict=1`, { headers: USER })
  expect(await listed.json()).toEqual([])
  expect(listed.headers.get('x-tools-layers')).toBe('user=0,global=0,file=3')
  const message = expect.stringMatching(/^no definition can be served: neither/)
  expect(log.join('')).toMatch(
    /^warn {2}folder of definitions has a fault {2}\{"at":"\*\.json","reason":"no definition can be served: .*\n$/,
  )
  const health = await (await fetch(`${other.url}/health`, { headers: ADMIN })).json()
  expect(health).toMatchObject({
    layers: { file: { definitions: 3, skipped: [{ source: '*.json', pointer: '', message }] } },
  })
})

test('a file may define the names of the tools by which a model finds others', async () => {
  using files = temporaryFolder()
  const own = { ...tool('search_tools'), runner: { kind: 'workflow', workflowName: 'tools-Search' } }
  writeFileSync(join(files.path, 'own.json'), JSON.stringify(own))
  const { service } = await withFiles(files.path)
  await using other = service
  const listed = await fetch(`${other.url}/workflows/tools/list?names=[]&with=search`, { headers: USER })
  expect(await listed.json()).toMatchObject([{ function: { name: 'load_tools' } }])
  expect(listed.headers.get('x-tools-unknown')).toBe('search_tools')
})

test('a folder of the original engine is served as it is, with the workflow of each tool', async () => {
  using original = temporaryFolder()
  const written = writeOriginalFiles(original.path)
  const { log, service } = await withFiles(original.path)
  await using other = service
  expect(await workflows('list?envelope=items', {}, other)).toEqual({
    items: written
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, description, parameters, workflowName = 'tools-CliTools' }) => ({
        type: 'function',
        function: { name, description, parameters: { required: [], ...parameters } },
        workflowName,
      })),
  })
  expect(log).toEqual([])
})
