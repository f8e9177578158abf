import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { DIALECTS } from '@toolrack/contract'
import type { ListedTool } from '@toolrack/contract'
import { execFile, spawn, spawnSync } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  loadedTools,
  runTools,
  STANDARD_DEFINITIONS,
  ToolDefs,
  ToolDispatcher,
} from '../../packages/client/src/index.ts'
import { chat } from '../client/calls.ts'
import { calling, ChatServer, saying } from '../support/chat-server.ts'
import { FullCheckout } from '../support/full-checkout.ts'
import { InstalledClient } from '../support/installed-client.ts'
import { serverWithRunner, uploaded } from '../support/modules.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { WEATHER } from '../support/weather-module.ts'

const EXAMPLES = new URL('packages/client/examples/', ROOT)
const call = { id: 'call_1', type: 'function', function: { name: 'GET_TIME', arguments: '{}' } }

let server: Server
let client: InstalledClient
beforeAll(async () => {
  server = await (existsSync(PYTHON) ? serverWithRunner() : Server.start())
  client = await InstalledClient.make()
})
afterAll(async () => {
  client[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const HOW_TO = 'docs/how-to/use-from-an-app.md'
/** Every page for users: each block of JavaScript or TypeScript in it is a program, or a fragment of one, that uses the client. */
const PAGES = ['README.md', 'packages/client/README.md', ...markdown('docs')]
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')

function markdown(folder: string): string[] {
  const names = readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`)
}

/** The programs of a page with what they print, where that is shown. */
function programs(page: string): { readonly title: string; readonly text: string; readonly shown: string }[] {
  const blocks = [...read(page).matchAll(/^```js\n(.*?)\n```\n(?:\n```text\n(.*?)\n```)?/gms)]
  return blocks.map(([, program = '', shown = '…'], index) => ({
    title: `${page}, program ${index}`,
    text: program,
    shown,
  }))
}

const DOCUMENTED = PAGES.flatMap(programs)
/** A program in a file of its own, which the reference links. */
const WORKFLOW_RUNNER = 'docs/examples/workflow-runner.mjs'

/** What the fragments on the pages, which are no whole programs, take from their surroundings. */
const SURROUNDINGS = `
import { ToolDefs, ToolDispatcher, ToolWraps, type JsonObject } from '@toolrack/client'
declare const service: string, token: string, approverToken: string, key: string, defs: ToolDefs, dispatcher: ToolDispatcher, history: string, message: object, file: File
declare function showToUser(...asked: unknown[]): Promise<void>
declare function userAccepts(...asked: unknown[]): Promise<boolean>
`

async function run(path: string, env: NodeJS.ProcessEnv = {}, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [path, ...args], {
    cwd: client.project,
    env: { PATH: process.env['PATH'], TOOLRACK_URL: server.url, TOOLRACK_TOKEN: server.token, ...env },
  })
  return stdout.trimEnd()
}

test('the pages show programs', () => {
  expect(programs(HOW_TO).length).toBeGreaterThanOrEqual(9)
  expect(DOCUMENTED.length).toBeGreaterThan(10)
})

function namesIn(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, name = '']) => name)
}

test('the reference has each error, each option of a list, and each function and class', () => {
  const page = read('docs/reference/client.md')
  const source = (name: string): string => read(`packages/client/src/${name}`)

  const [, errors = ''] = page.split('\n## Errors\n')
  const [codes = '', reasons = ''] = source('errors.ts').split('export type ServiceErrorCode')
  const CODE = /^ {2}\| '([A-Z_]+)'$/gm
  expect(namesIn(errors, /^\| `([A-Z_]+)` \|/gm)).toEqual(namesIn(codes, CODE))
  const [, reasonRows = ''] = /^A `reason` has one of these codes:\n([^]+?)\n\n[^|]/m.exec(page) ?? []
  expect(namesIn(reasonRows, /^\| `([A-Z_]+)` \|/gm)).toEqual(namesIn(reasons, CODE))

  const [, table = ''] = /^\| option of a list \|[^]+?\n((?:\| `.+\n)+)/m.exec(page) ?? []
  const documented = table.split('\n').flatMap((row) => namesIn(row.split('|')[1] ?? '', /`(\w+)`/g))
  const [, options = ''] = /^const OPTIONS =\s+'(.+)'$/m.exec(source('list-query.ts')) ?? []
  expect(documented.toSorted()).toEqual(options.split(', ').toSorted())

  const exported = namesIn(source('index.ts'), /^export \{ (.+) \} from/gm)
    .flatMap((names) => names.split(', '))
    .filter((name) => !name.startsWith('type '))
  expect(exported.length).toBeGreaterThan(8)
  expect(exported.filter((name) => !page.includes(`\`${name}`) && !page.includes(` ${name}(`))).toEqual([])
})

test('the commands of the page pack and install the client as it is packed here', () => {
  const [, commands = ''] = /^```sh\n(.*?)\n```/ms.exec(read(HOW_TO)) ?? []
  const { name } = JSON.parse(read('packages/client/package.json')) as { name: string }
  expect(commands.split('\n').slice(0, 2)).toEqual([
    '(cd ../toolrack && npm run build && npm pack -w packages/client)',
    `npm install ../toolrack/${client.tarball}`,
  ])
  expect(name).toBe('@toolrack/client')
})

test('every program and fragment on the pages compiles under strict', () => {
  const names = PAGES.flatMap((page) =>
    [...read(page).matchAll(/^```(js|ts)\n(.*?)\n```/gms)].map(([, kind, program = ''], index) => {
      const name = `${page.replaceAll(/\W/g, '-')}-${index}.mts`
      client.write(name, `${kind === 'ts' ? SURROUNDINGS : ''}${program}\nexport {}\n`)
      return name
    }),
  )
  expect(names.length).toBeGreaterThan(14)
  client.write('workflow-runner.mts', read(WORKFLOW_RUNNER))
  names.push('workflow-runner.mts')
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'esnext',
    module: 'nodenext',
    types: ['node'],
    typeRoots: [fileURLToPath(new URL('node_modules/@types', ROOT))],
  }
  client.write('tsconfig.json', JSON.stringify({ compilerOptions, files: names }))
  const compiler = fileURLToPath(new URL('node_modules/typescript/bin/tsc', ROOT))
  const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', client.project], {
    encoding: 'utf8',
  })
  expect([stdout, status]).toEqual(['', 0])
}, 60_000)

test.each(DOCUMENTED)('$title does what the page says', async ({ text, shown }) => {
  await using model = await ChatServer.start(calling(call), saying('It is late.'))
  const program = text
    .replaceAll('http://127.0.0.1:8787', server.url)
    .replaceAll('https://api.openai.com/v1/chat/completions', model.url)
  const printed = await run(client.write('program.mjs', program))
  const pattern = shown.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
  expect(printed).toMatch(new RegExp(`^${pattern.join('[^]*')}$`))
})

test('the example of runners of workflows runs', async () => {
  expect(await run(client.write('program.mjs', read(WORKFLOW_RUNNER)))).toBe(
    '{"id":"task-1","title":"Write it down"}',
  )
})

function installed(example: string): string {
  return `${client.project}/node_modules/@toolrack/client/examples/${example}.mjs`
}

describe('examples', () => {
  test('there are no others', () => {
    expect(readdirSync(EXAMPLES).toSorted()).toEqual([
      'agent.mjs',
      'connection.mjs',
      'list-tools.mjs',
      'run-calls.mjs',
    ])
  })

  test('list-tools lists', async () => {
    expect(await run(installed('list-tools'), {}, 'ECHO,NOPE')).toMatch(
      /^ECHO: .*\n1 tools, from: service\nno tool is named NOPE$/,
    )
  })

  test('run-calls runs here and there', async () => {
    expect(JSON.parse(await run(installed('run-calls')))).toMatchObject([
      {
        content: [
          { content: '{"filepath":"README.md","text":"what it holds"}' },
          { content: 'from the service' },
          { content: 'Unsupported tool: NO_SUCH_TOOL', is_error: true },
        ],
      },
    ])
  })

  test('agent has its stand-in ask for the time, or a model', async () => {
    expect(await run(installed('agent'))).toMatch(/^The service says: .*UTC.* \(answered after 2 steps\)$/)
    await using model = await ChatServer.start(calling(call), saying('It is late.'))
    expect(await run(installed('agent'), { MODEL_URL: model.url, MODEL_NAME: 'm' })).toBe(
      'It is late. (answered after 2 steps)',
    )
    expect(model.requests[0]?.tools).toHaveLength(1)
  })

  test('`npm run example` runs them from a checkout, without a build', async () => {
    await using checkout = new FullCheckout()
    const env = { TOOLRACK_URL: server.url, TOOLRACK_TOKEN: server.token }
    checkout.run('example.mjs', { env })
    await checkout.said(/^\d+ tools, from: service$/m)
    expect(await checkout.ended()).toBe(0)
  })

  test('`npm run example` names the most similar example when there is none of that name', () => {
    const script = fileURLToPath(new URL('scripts/example.mjs', ROOT))
    const { status, stderr } = spawnSync(process.execPath, [script, 'run-call'], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([
      2,
      "There is no example 'run-call'. Did you mean 'run-calls'?\nnpm run example -- --help says what there is.\n",
    ])
  })
})

/** Each line that comes on the standard input is a list. */
const TEN_LINES = `import { createInterface } from 'node:readline'
import { ToolDefs, ToolDispatcher } from '@toolrack/client'
const connection = { service: process.env.TOOLRACK_URL, token: process.env.TOOLRACK_TOKEN }
const defs = new ToolDefs({ ...connection, deadlineMs: 30_000 })
const runners = [{ name: 'READ_FILE', run: ({ filepath }) => 'what ' + filepath + ' holds' }]
const dispatcher = new ToolDispatcher({ ...connection, runners })
const call = (id, name, input) => ({ type: 'tool_use', id, name, input })
const calls = [call('a', 'weather__get', { location: 'Bern' }), call('b', 'READ_FILE', { filepath: 'x' })]
const { messages } = await dispatcher.dispatch(calls)
console.log(JSON.stringify(messages[0].content.map(({ content }) => content)))
for await (const names of createInterface({ input: process.stdin })) {
  const { source, reason, tools } = await defs.list({ names })
  console.log(JSON.stringify([source, reason?.code ?? null, tools.map((tool) => tool.function.name)]))
}
`

withPython(
  'an empty project lists, runs a Python tool at the service and a Runner of its own, and goes on listing when the service is gone',
  async () => {
    await uploaded(server, 'weather', WEATHER)
    await using proxy = await TcpProxy.start(new URL(server.url).host)
    const env = { ...process.env, TOOLRACK_URL: `http://${proxy.address}`, TOOLRACK_TOKEN: server.token }
    const child = spawn(process.execPath, [client.write('ten-lines.mjs', TEN_LINES)], { env })
    const read = lines(child)
    const list = async (names: string): Promise<unknown> => {
      child.stdin.write(`${names}\n`)
      return read()
    }
    expect(await read()).toEqual(['Bern: cloudy for 1 day(s)', 'what x holds'])
    expect(await list('weather:get,ECHO')).toEqual(['service', null, ['weather:get', 'ECHO']])
    await proxy.cut()
    for (let count = 0; count < 3; count += 1)
      expect(await list('weather:get,ECHO')).toEqual(['remembered', 'NETWORK', ['weather:get', 'ECHO']])
    expect(await list('weather:get,READ_FILE')).toEqual(['local', 'NETWORK', ['READ_FILE']])
    child.stdin.end()
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(0)
  },
)

/** The lines that a program prints, each as the JSON that it is. */
function lines(child: ChildProcessWithoutNullStreams): () => Promise<unknown> {
  const printed = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let said = ''
  child.stderr.on('data', (chunk) => (said += String(chunk)))
  return async () => {
    const { value, done } = await printed.next()
    if (done) throw new Error(`it ended and said: ${said}`)
    return JSON.parse(value) as unknown
  }
}

test('what is local is, in every dialect, byte for byte what the service lists of the same definitions', async () => {
  const names = STANDARD_DEFINITIONS.map((definition) => definition.function.name)
  for (const dialect of [undefined, ...DIALECTS]) {
    const options = { names, dialect }
    const listed = await new ToolDefs({ service: server.url, token: server.token }).list(options)
    // Nothing listens there, and nothing is retried for long.
    const away = new ToolDefs({ service: 'http://127.0.0.1:1', token: 't', deadlineMs: 50 })
    const local = await away.list(options)
    expect([listed.source, local.source]).toEqual(['service', 'local'])
    expect(JSON.stringify(local.tools)).toBe(JSON.stringify(listed.tools))
  }
})

test('a model that has only search_tools and load_tools finds, loads and calls a tool of the service', async () => {
  const found = calling(chat('1', 'search_tools', { query: 'present time in a time zone' }))
  const loaded = calling(chat('2', 'load_tools', { names: ['GET_TIME'] }))
  const called = calling(chat('3', 'GET_TIME', { timeZone: 'Europe/Zurich' }))
  await using model = await ChatServer.start(found, loaded, called, saying('It is late.'))
  const connection = { service: server.url, token: server.token }
  const defs = new ToolDefs(connection)
  const { text } = await runTools({
    model: { url: model.url, name: 'm' },
    messages: [{ role: 'user', content: 'What time is it in Zurich?' }],
    tools: (messages) =>
      defs.list({ names: [], with: 'search', loaded: loadedTools(messages), dialect: 'openai' }),
    dispatcher: new ToolDispatcher(connection),
  })
  expect(text).toBe('It is late.')
  const given = model.requests.map(({ tools = [] }) =>
    tools.map((one) => (one as ListedTool).function.name).join(),
  )
  const finders = 'load_tools,search_tools'
  expect(given).toEqual([finders, finders, `${finders},GET_TIME`, `${finders},GET_TIME`])
  const answers = model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? []
  expect(answers.map(({ content }) => content)).toEqual([
    expect.stringContaining('"name":"GET_TIME"'),
    expect.stringContaining('"name":"GET_TIME"'),
    expect.stringContaining('Europe/Zurich'),
  ])
})
