import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { buildFunctions } from '../../scripts/toolchain/build-functions.mjs'
import { npmInstall } from '../../scripts/toolchain/npm.mjs'

/** What a deployment uploads: `functions/` by itself, built, with its own lock file and nothing else of the tree. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FUNCTIONS = join(ROOT, 'functions')
const UPLOADED = ['dist', 'workflows', 'package.json', 'package-lock.json']

let folder: string
let server: ChildProcess
let url = ''
let token = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolrack-lone-'))
  await buildFunctions(process.execPath, { logLevel: 'silent' })
  for (const name of UPLOADED) cpSync(join(FUNCTIONS, name), join(folder, name), { recursive: true })
  const agents = join(folder, 'workflows/agents/defs')
  mkdirSync(agents, { recursive: true })
  writeFileSync(join(agents, 'green.json'), '{"name":"Mrs Green"}')
  await npmInstall({ what: 'functions', cwd: folder, node: process.execPath, flags: ['--omit=dev'] })
  const env = { PATH: process.env['PATH'], PORT: '0', TOOLRACK_DATA: join(folder, 'data') }
  server = spawn(process.execPath, ['dist/local.js'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ;[url, token] = await banner(server)
}, 180_000)

afterAll(() => {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

async function banner(child: ChildProcess): Promise<[string, string]> {
  let said = ''
  for await (const chunk of child.stdout ?? []) {
    said += String(chunk)
    const [, at, secret] = /ready at (\S+)[\s\S]*\ntoken: (\S+)\n/.exec(said) ?? []
    if (at !== undefined && secret !== undefined) return [at, secret]
  }
  throw new Error(`the server ended: ${said}`)
}

const call = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url + path, { ...init, headers: { Authorization: `Bearer ${token}` } })

test('functions/ alone, installed from its own lock file, lists the file layer that it carries', async () => {
  const tools = (await (await call('/workflows/tools/list?names=READ_FILE')).json()) as unknown[]
  expect(tools).toHaveLength(1)
})

test('the agents in files that it carries are read where it runs', async () => {
  expect(await (await call('/agents/mrs-green')).json()).toMatchObject({ agent: { source: 'file' } })
})

test('its schema worker is a file of the bundle and admits definitions', async () => {
  const body = JSON.stringify({ parameters: { type: 'object', properties: { a: { type: 'strin' } } } })
  const refused = await call('/workflows/tools/defs/A', { method: 'PUT', body })
  expect(refused.status).toBe(422)
  expect(await refused.json()).toMatchObject({
    error: { details: [{ pointer: '/parameters/properties/a/type' }] },
  })
})

test('it carries nothing of the workspace by name, so no registry is ever asked for it', () => {
  for (const name of ['package.json', 'package-lock.json', 'dist/local.js', 'dist/index.js']) {
    expect([
      name,
      /(from|require\()\s*['"]@toolrack\//.test(readFileSync(join(folder, name), 'utf8')),
    ]).toEqual([name, false])
  }
  expect(readFileSync(join(folder, 'package-lock.json'), 'utf8')).not.toContain('@toolrack/')
})

/** Tells what the functions say of themselves, and every connection, name, process and thread that loading them has asked for. */
const LOADED = `
  const asked = []
  for (const [module, names] of [['node:net', ['connect', 'createConnection']], ['node:dns', ['lookup']], ['node:child_process', ['fork', 'spawn']], ['node:worker_threads', ['Worker']]]) {
    const real = process.getBuiltinModule(module)
    for (const name of names) real[name] = () => { throw asked.push(module + ' ' + name) }
  }
  process.getBuiltinModule('node:module').syncBuiltinESMExports()
  const loaded = await import('./dist/index.js')
  const endpoints = Object.entries(loaded).map(([name, { __endpoint }]) => [name, __endpoint])
  console.log(JSON.stringify({ asked, endpoints: Object.fromEntries(endpoints), modules: Object.keys(process.getBuiltinModule('node:module')._cache) }))
`

/** Loads the functions in an environment with nothing else in it. */
async function load(env: NodeJS.ProcessEnv): Promise<Loaded> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', LOADED], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(await text(child.stdout)) as Loaded
}

function isLoaded({ modules }: Loaded, name: string): boolean {
  return modules.some((path) => path.includes(`/node_modules/${name}/`))
}

test('its functions are loaded without a secret and without asking anybody, and say what they need', async () => {
  const loaded = await load({})
  expect(loaded.asked).toEqual([])
  expect(Object.keys(loaded.endpoints)).toEqual(['jobs', 'workflows'])
  for (const endpoint of Object.values(loaded.endpoints)) {
    expect(endpoint).toMatchObject({
      platform: 'gcfv2',
      region: ['us-central1'],
      httpsTrigger: { invoker: ['public'] },
      secretEnvironmentVariables: [{ key: 'TOOLRACK_JOB_KEYS' }, { key: 'TOOLRACK_SEALING_KEY' }],
    })
  }
  expect([isLoaded(loaded, 'firebase-admin'), isLoaded(loaded, '@google-cloud/firestore')]).toEqual([
    true,
    false,
  ])
})

async function regionsOf(env: NodeJS.ProcessEnv) {
  return Object.values((await load(env)).endpoints).map(({ region }) => region)
}

test('they are deployed into the region of the parameter, and are in the emulator where its Hosting looks for them', async () => {
  const there = ['europe-west1']
  expect(await regionsOf({ TOOLRACK_REGION: 'europe-west1' })).toEqual([there, there])
  const usual = ['us-central1']
  const emulated = { TOOLRACK_REGION: 'europe-west1', FUNCTIONS_EMULATOR: 'true' }
  expect(await regionsOf(emulated)).toEqual([usual, usual])
})

test('where they only have to serve, nothing that a request does not need is loaded', async () => {
  const loaded = await load({ FUNCTION_TARGET: 'workflows' })
  expect(Object.keys(loaded.endpoints)).toEqual([])
  expect([isLoaded(loaded, 'express'), isLoaded(loaded, 'firebase-admin')]).toEqual([true, false])
})

test('firebase-functions finds both functions and every parameter in it, as a deployment does', async () => {
  const manifest = join(folder, 'functions.yaml')
  const program = join(folder, 'node_modules/firebase-functions/lib/bin/firebase-functions.js')
  const child = spawn(process.execPath, [program, '.'], {
    cwd: folder,
    env: { FUNCTIONS_MANIFEST_OUTPUT_PATH: manifest, GCLOUD_PROJECT: 'demo-lone' },
    stdio: 'ignore',
  })
  await once(child, 'exit')
  const { endpoints, params } = JSON.parse(readFileSync(manifest, 'utf8')) as Found
  expect(Object.keys(endpoints)).toEqual(['jobs', 'workflows'])
  const env = readFileSync(join(FUNCTIONS, '.env'), 'utf8')
  const asked = params.filter(({ type }) => type !== 'secret').map(({ name }) => name)
  expect([...env.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name)).toEqual(asked)
})

test('the file layer that it carries is the one that its folder would give', async () => {
  const built = JSON.parse(readFileSync(join(folder, 'dist/file-layer.json'), 'utf8')) as { skipped: unknown }
  const listed = (await (await call('/workflows/tools/defs?layer=file')).json()) as {
    items: { name: string }[]
  }
  expect(built).toMatchObject({ skipped: [] })
  const { definitions } = built as unknown as { definitions: { name: string }[] }
  expect(definitions.map(({ name }) => name).toSorted()).toEqual(
    listed.items.map(({ name }) => name).toSorted(),
  )
})

type Loaded = {
  readonly asked: readonly string[]
  readonly endpoints: Readonly<Record<string, { readonly region: readonly string[] }>>
  readonly modules: readonly string[]
}
type Found = {
  readonly endpoints: Readonly<Record<string, unknown>>
  readonly params: readonly { readonly name: string; readonly type: string }[]
}
