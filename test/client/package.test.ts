import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { aliasOf } from '@toolrack/contract'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import { bundleClient } from '../../scripts/toolchain/build-client.mjs'
import { InstalledClient } from '../support/installed-client.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { ROOT } from '../support/source-tree.ts'
import { testWhere } from '../support/test-where.ts'
import { listAnswer, listed } from './scripted-service.ts'

const root = fileURLToPath(ROOT)
const TSC = join(root, 'node_modules/typescript/bin/tsc')
/** The oldest Node that is promised, where the machine has one of its line. */
const NODE_20 = '/usr/bin/node'
const hasNode20 = (spawnSync(NODE_20, ['--version'], { encoding: 'utf8' }).stdout ?? '').startsWith('v20.')

let client: InstalledClient
let server: ScriptedServer
beforeAll(async () => {
  client = await InstalledClient.make()
  server = await ScriptedServer.start()
  server.answers = [listAnswer([listed('A')])]
})
afterAll(async () => {
  client[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const PROGRAM = `import { ToolDefs, ToolDispatcher } from '@toolrack/client'
const [service] = process.argv.slice(2)
const { tools, source } = await new ToolDefs({ service, token: 't' }).list()
const dispatcher = new ToolDispatcher({ runners: [{ name: 'A', run: ({ n }) => n + 1 }] })
const call = { id: 'c', type: 'function', function: { name: tools[0].function.name, arguments: '{"n":1}' } }
const { messages } = await dispatcher.dispatch([call])
const gone = await new ToolDefs({ service: 'http://127.0.0.1:1', token: 't' }).list()
console.log(source, messages[0].content, gone.source, gone.tools.length)
`

/** Not synchronously: the server that it asks is this process. */
async function run(node: string, path: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(node, [path, ...args], { cwd: client.project })
  return stdout
}

test('an empty project installs the package without a network, and lists and dispatches with it', async () => {
  const path = client.write('program.mjs', PROGRAM)
  expect(await run(process.execPath, path, server.origin)).toBe('service 2 local 5\n')
})

testWhere(hasNode20, 'There is no Node 20 in /usr/bin: the client was run on the pinned Node only.')(
  'it runs on Node 20',
  async () => {
    const path = client.write('program.mjs', PROGRAM)
    expect(await run(NODE_20, path, server.origin)).toBe('service 2 local 5\n')
  },
)

test('the package has no dependency, and holds what it needs and no source', () => {
  const manifest = JSON.parse(
    readFileSync(join(client.project, 'node_modules/@toolrack/client/package.json'), 'utf8'),
  ) as object
  for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies'])
    expect(manifest).not.toHaveProperty(kind)
  const files = client.files.filter((path) => /\.\w+$/.test(path))
  expect(files).toEqual(
    expect.arrayContaining([
      'README.md',
      'dist/index.js',
      'dist/types/client/src/index.d.ts',
      'examples/agent.mjs',
    ]),
  )
  expect(files.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual([])
})

test.each(['nodenext', 'bundler'])(
  'its types are whole and strict with module resolution %s',
  (resolution) => {
    client.write(
      'types.ts',
      `import { invokerRunner, runTools, ToolDefs, ToolDispatcher, ToolsError } from '@toolrack/client'
import type { JsonObject, LossCode, Runner, ToolDefinition, ToolList } from '@toolrack/client'

const defs = new ToolDefs({ service: new URL('http://127.0.0.1'), token: async ({ refused }) => (refused ? 'a' : 'b') })
const list = await defs.list({ names: ['A'], signal: AbortSignal.timeout(10) })
const name: string = list.tools[0]!.function.name
const { tools: anthropic }: ToolList<JsonObject> = await defs.list({ dialect: 'anthropic' })
const why: 'NETWORK' | 'TIMEOUT' | 'BUSY' | 'FAILED' | 'UNREADABLE' | 'LAYERS_LOST' | undefined = list.reason?.code
const code: LossCode | undefined = why
const runner: Runner = { name, run: ({ text }, { signal }) => [text, signal.aborted] }
const definition: ToolDefinition = { type: 'function', function: { name, description: '', parameters: {} } }
const workflow = invokerRunner({ name: 'B', definition, workflow: (input) => input.arguments['a'] })
const typed: Runner<{ path: string }> = { name: 'C', run: ({ path }) => path.length }
interface Range { from: number; to?: number }
const ranged = { name: 'D', run: ({ from, to = 0 }: Range) => to - from }
const inline = { name: 'E', run: async (args: { path: string }) => args.path }
const dispatcher = new ToolDispatcher({
  runners: [runner, workflow, typed, ranged, inline, { name: 'F', run: (args: { path: string }) => args.path },
    { name: 'G', run: ({ text }, { signal }) => [text, signal.aborted] }],
})
// @ts-expect-error the type of the arguments has no such parameter
const wrong: Runner<{ path: string }> = { name: 'C', run: ({ file }) => file }
// @ts-expect-error arguments are an object
const text: Runner<string> = { name: 'C', run: (args) => args }
// @ts-expect-error a Runner has a name
new ToolDispatcher({ runners: [{ run: (args: { path: string }) => args.path }] })
const mine: { role: string }[] = []
mine.push(...(await dispatcher.dispatch<{ role: string }>([])).messages)
const field: { type: 'function'; function: { name: string; parameters?: Record<string, unknown> } }[] = list.tools
const { end } = await runTools({ model: { url: '', name }, messages: [], tools: list.tools, dispatcher })
const over: boolean = end === 'step-limit'
// @ts-expect-error a dialect that there is not
await defs.list({ dialect: 'openia' })
// @ts-expect-error a route that there is not
new ToolDefs({ service: '', token: '', route: 'users' })
console.log(wrong, text, field, anthropic, code, over, new ToolsError('TOKEN_FAILED', '').status)
`,
    )
    const options = {
      nodenext: ['--module', 'nodenext'],
      bundler: ['--module', 'esnext', '--moduleResolution', 'bundler'],
    }
    const flags = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--types',
      '',
    ]
    const args = [TSC, ...flags, ...options[resolution as keyof typeof options], 'types.ts']
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: client.project, encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
  },
)

test('the bundle imports nothing, and holds no hash of its own nor the library that the service hashes with', async () => {
  const text = readFileSync(join(client.project, 'node_modules/@toolrack/client/dist/index.js'), 'utf8')
  expect(text).not.toMatch(/^import\b|\bimport\(|\brequire\(|\bprocess\.|\bBuffer\b/m)
  const { metafile } = await bundleClient({ metafile: true, write: false })
  const [bundled] = Object.values(metafile?.outputs ?? {})
  const inputs = Object.entries(bundled?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  const paths = inputs.map(([path]) => path)
  expect(paths).toContain('packages/client/src/sha256.ts')
  expect(paths.filter((path) => /node_modules|contract\/src\/sha256/.test(path))).toEqual([])
})

/** What a browser, Deno and edges all have, but for `crypto`. */
const WEB = {
  AbortController,
  AbortSignal,
  atob,
  clearTimeout,
  fetch,
  Headers,
  setTimeout,
  TextEncoder,
  URL,
  URLSearchParams,
}

/** Runs a program in which `toolrack` is the client; what comes of it is taken over as JSON. */
async function runOnWeb(platform: object, program: string): Promise<unknown> {
  const { outputFiles } = await bundleClient({ format: 'iife', globalName: 'toolrack', write: false })
  const answer: unknown = await runInNewContext(`${outputFiles?.[0]?.text}\n${program}`, { ...platform })
  return JSON.parse(JSON.stringify(answer))
}

const AWAY = `new toolrack.ToolDefs({ service: 'http://127.0.0.1:1', token: 't', fallback: [
  { type: 'function', function: { name: 'a.b', description: '', parameters: {} } } ] })`

test('it runs where there is only what the web has', async () => {
  const alias = aliasOf('a.b')
  const answer = await runOnWeb(
    { ...WEB, crypto },
    `const tools = new toolrack.ToolDefs({ service: ${JSON.stringify(server.origin)}, token: 't' })
    const runners = [{ name: 'a.b', run: () => 'ran' }]
    const call = { type: 'tool_use', id: 'c', name: ${JSON.stringify(alias)}, input: {} }
    const gone = new toolrack.ToolDefs({ service: 'http://127.0.0.1:1', token: 't' })
    Promise.all([
      tools.list(),
      new toolrack.ToolDispatcher({ runners }).dispatch([call]),
      gone.list(),
      ${AWAY}.list({ dialect: 'anthropic' }),
    ])`,
  )
  expect(answer).toMatchObject([
    { source: 'service', tools: [listed('A')] },
    { messages: [{ content: [{ content: 'ran' }] }] },
    { source: 'local' },
    { source: 'local', tools: [{ name: alias }] },
  ])
})

test('without crypto all runs that takes no hash', async () => {
  const answer = await runOnWeb(
    WEB,
    `const tools = new toolrack.ToolDefs({ service: ${JSON.stringify(server.origin)}, token: 't' })
    const runners = ['a.b', 'ns:get'].map((name) => ({ name, run: () => 'ran ' + name }))
    const calls = ['a.b', 'ns:get', 'ns__get', 'OTHER'].map((name, index) => (
      { type: 'function', id: 'c' + index, function: { name, arguments: '{}' } }))
    const gone = new toolrack.ToolDefs({ service: 'http://127.0.0.1:1', token: 't' })
    Promise.all([
      tools.list(),
      new toolrack.ToolDispatcher({ runners }).dispatch(calls),
      gone.list({ dialect: 'openai' }),
      ${AWAY}.list(),
      ${AWAY}.list({ dialect: 'gemini' }),
    ])`,
  )
  expect(answer).toMatchObject([
    { source: 'service', tools: [listed('A')] },
    {
      messages: [
        { content: 'ran a.b' },
        { content: 'ran ns:get' },
        { content: 'ran ns:get' },
        { content: 'Unsupported tool: OTHER' },
      ],
    },
    { source: 'local' },
    { source: 'local', tools: [{ function: { name: 'a.b' } }] },
    { source: 'local', tools: [{ functionDeclarations: [{ name: 'a.b' }] }] },
  ])
})

test('without crypto what takes a hash says so, before anything is run', async () => {
  const answer = await runOnWeb(
    WEB,
    `let ran = 0
    const runners = ['a.b', 'ECHO'].map((name) => ({ name, run: () => (ran += 1) }))
    const calls = ['ECHO', ${JSON.stringify(aliasOf('a.b'))}].map((name, index) => (
      { type: 'function', id: 'c' + index, function: { name, arguments: '{}' } }))
    const told = ({ name, code, message }) => ({ name, code, message, ran })
    Promise.all([
      new toolrack.ToolDispatcher({ runners }).dispatch(calls).catch(told),
      ${AWAY}.list({ dialect: 'openai' }).catch(told),
      ${AWAY}.list({ names: 'a.b@sha256:00' }).catch(told),
    ])`,
  )
  const missing = {
    name: 'ToolsError',
    code: 'CRYPTO_MISSING',
    message: expect.stringMatching(/no crypto\.subtle; a page has it under https only/),
    ran: 0,
  }
  expect(answer).toEqual([missing, missing, missing])
})
