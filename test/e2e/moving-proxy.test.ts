import { afterAll, expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { chat } from '../client/calls.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { OriginalClient } from '../support/original-client.ts'
import { OriginalEngine, type Item, type Workflow } from '../support/original-engine.ts'
import { withPython } from '../support/runner-environment.ts'
import { ROOT } from '../support/source-tree.ts'

const PAGE = readFileSync(new URL('docs/how-to/move-from-the-original.md', ROOT), 'utf8')
/** The command of the page: its settings, and the program that it starts. */
const [, SETTINGS = '', PROGRAM = ''] = /^((?:[A-Z_]+=\S+ )+)node (\S+)$/m.exec(PAGE) ?? []
const PROXY = fileURLToPath(new URL(PROGRAM, ROOT))

const LIBRARY = `
def find(title: str) -> str:
    """Says where a book is."""
    return f"{title} is on shelf 7"


TOOL_SPECS = [{"name": "library:find", "handler": find}]
`

const INVOICE = {
  type: 'function',
  workflowName: 'tools-Invoices',
  function: {
    name: 'POST_INVOICE',
    description: 'Posts one invoice.',
    parameters: { type: 'object', properties: { amount: { type: 'number' } } },
  },
}

type Seen = {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A stand-in of the original service. It answers what a test says, and keeps what it was sent. */
class OriginalService implements AsyncDisposable {
  readonly seen: Seen[] = []
  readonly #server: HttpServer

  private constructor(server: HttpServer) {
    this.#server = server
  }

  static async start(): Promise<OriginalService> {
    const server = createServer()
    const service = new OriginalService(server)
    server.on('request', (req, res) => {
      void text(req).then((body) => {
        service.seen.push({ method: req.method, url: req.url, headers: req.headers, body })
        res.writeHead(207, { 'Content-Type': 'text/plain', 'X-Old': 'yes' }).end(`old: ${body}`)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return service
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

type Proxy = { readonly url: string; readonly end: () => void }

async function startProxy(toolrack: string, original: string): Promise<Proxy> {
  const env = { PATH: process.env['PATH'], TOOLRACK_URL: toolrack, ORIGINAL_URL: original, PORT: '0' }
  const child = spawn(process.execPath, [PROXY], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const chunk of child.stdout) {
    said += String(chunk)
    const [, url] = /proxy is at (\S+)\n/.exec(said) ?? []
    if (url !== undefined) return { url, end: () => void child.kill('SIGKILL') }
  }
  throw new Error(`the proxy ended: ${said}`)
}

const original = await OriginalService.start()
const proxies: Proxy[] = []
afterAll(async () => {
  for (const proxy of proxies) proxy.end()
  await original[Symbol.asyncDispose]()
})

async function proxyTo(toolrack: string, to = original.url): Promise<string> {
  const proxy = await startProxy(toolrack, to)
  proxies.push(proxy)
  return proxy.url
}

const started = sharedServerWithRunner({
  env: {
    LIST_ENVELOPE: 'items',
    LIST_ITEM_NAMES: 'alias',
    TOOLRACK_INVOKE_WORKFLOW: 'tools-Toolrack',
  },
})

withPython('a turn of the original engine runs through the proxy as without one', async () => {
  const server = await started()
  const before = original.seen.length
  await uploaded(server, 'library', LIBRARY)
  const put = { method: 'PUT', body: JSON.stringify(INVOICE) }
  expect((await server.fetch('/workflows/tools/defs/POST_INVOICE', put)).status).toBe(201)
  const url = await proxyTo(server.url)
  const send = (path: string, init: RequestInit = {}) =>
    fetch(url + path, {
      ...init,
      headers: { 'x-project-id': 'library', Authorization: `Bearer ${server.token}` },
    })

  const client = new OriginalClient({ fetch: send, at: '/agents', projectId: 'library' })
  const tools = ['library:find', 'ECHO', 'POST_INVOICE', 'READ_FILE']
  const agent = await client.create({ name: 'Librarian', tools, userId: 'local' })
  await client.link('s1', agent.id)

  const posted: string[] = []
  const posts: Workflow = ({ tool_call: { function: fn } }) => {
    posted.push(fn.arguments)
    return Promise.resolve({ encoded: `Posted ${fn.arguments}.`, cost: 1 })
  }
  const lists: (readonly Item[])[] = []
  const engine = new OriginalEngine({
    service: url,
    headers: { Authorization: `Bearer ${server.token}`, 'x-user-id': 'ann', 'x-project-id': 'library' },
    query: '',
    sessionId: 's1',
    ownTools: [],
    workflows: { 'tools-Invoices': posts, 'tools-CliTools': () => Promise.resolve({ encoded: 'A file.' }) },
    env: { WORKFLOW_ENV: '' },
    pause: () => Promise.resolve(),
  })
  const calls = [
    chat('1', 'ECHO', { text: 'Hello.' }),
    chat('2', 'library__find', { title: 'Emma' }),
    chat('3', 'POST_INVOICE', { amount: 1 }),
    chat('4', 'POST_INVOICE', { amount: 2 }),
    chat('5', 'READ_FILE', { path: 'a.txt' }),
  ]
  await engine.turn((listed) => {
    lists.push(listed)
    return calls
  })
  const named = lists[0]?.map((item) => [item.function.name, item.workflowName])
  expect(named).toEqual([
    ['POST_INVOICE', 'tools-Invoices'],
    ['library__find', 'tools-Toolrack'],
    ['ECHO', 'tools-Toolrack'],
    ['READ_FILE', 'tools-CliTools'],
  ])
  expect(lists[0]?.[0]).toEqual({
    type: 'function',
    function: {
      name: 'POST_INVOICE',
      description: 'Posts one invoice.',
      parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: [] },
    },
    workflowName: 'tools-Invoices',
  })
  const answers = ['Hello.', 'Emma is on shelf 7', 'Posted {"amount":1}.', 'Posted {"amount":2}.', 'A file.']
  expect(engine.messages).toEqual([
    { role: 'assistant', content: null, tool_calls: calls },
    ...calls.map(({ id }, index) => ({ role: 'tool', tool_call_id: id, content: answers[index] })),
  ])
  expect([posted, engine.cost]).toEqual([['{"amount":1}', '{"amount":2}'], 2])
  expect(original.seen.slice(before)).toEqual([])
})

test('the page shows the settings of the proxy, what it prints, and the paths that go to Toolrack', async () => {
  expect(SETTINGS.trim().split(' ')).toEqual([
    'TOOLRACK_URL=http://127.0.0.1:8787',
    'ORIGINAL_URL=https://old.example',
    'PORT=8080',
  ])
  const url = await proxyTo('http://127.0.0.1:9')
  expect(PAGE).toContain(`\nThe proxy is at ${url.replace(/\d+$/, '8080')}\n`)
  const [, sentence = ''] =
    /^\[The proxy\]\(\S+\) sends (.+) to Toolrack, and all other paths/m.exec(PAGE) ?? []
  const moved = Array.from(sentence.matchAll(/`([^`]+)`/g), ([, path = '']) => path.replace('…', 'a'))
  expect(moved).toHaveLength(6)
  for (const path of moved) {
    const { error } = (await (await fetch(url + path)).json()) as { error: string }
    expect([path, error]).toEqual([path, expect.stringMatching(/cannot reach Toolrack/)])
  }
})

withPython(
  'every request that has not moved goes to the original service unchanged, and its answer comes back',
  async () => {
    const url = await proxyTo((await started()).url)
    for (const path of ['/jobs/other?x=%20y', '/workflows/run/1', '/', '/agentsmith', '/jobs/toolsmith/list'])
      for (const method of ['GET', 'POST']) {
        const headers = { Authorization: 'Bearer old', 'x-user-id': 'ann', 'Content-Type': 'text/x' }
        const answer = await fetch(url + path, { method, headers, body: method === 'POST' ? 'ä' : null })
        expect([answer.status, answer.headers.get('x-old')]).toEqual([207, 'yes'])
        expect(await answer.text()).toBe(method === 'POST' ? 'old: ä' : 'old: ')
        expect(original.seen.at(-1)).toMatchObject({
          method,
          url: path,
          headers: { authorization: 'Bearer old' },
        })
      }
  },
)

withPython('a service that cannot be reached is named, and a lost token is explained', async () => {
  const url = await proxyTo((await started()).url, 'http://127.0.0.1:9')
  const lost = await fetch(`${url}/jobs/other`)
  expect([lost.status, await lost.json()]).toEqual([
    502,
    { error: expect.stringMatching(/cannot reach the original service \(ORIGINAL_URL\)/) },
  ])
  const bare = await fetch(`${url}/jobs/tools/list`)
  expect([bare.status, await bare.text()]).toEqual([
    401,
    expect.stringMatching(/see that no proxy on the way removes the header/),
  ])
})

test.each(['tools', 'localhost:8787'])('the address %s ends the proxy with a sentence', async (address) => {
  expect(await endOf({ TOOLRACK_URL: address })).toMatch(/^TOOLRACK_URL must be the address of a service/)
})

test('a port that another program uses ends the proxy with a sentence', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const PORT = String((taken.address() as AddressInfo).port)
  const url = 'http://127.0.0.1:9'
  expect(await endOf({ TOOLRACK_URL: url, ORIGINAL_URL: url, PORT })).toMatch(
    /^The proxy cannot use 127.0.0.1, port \d+: EADDRINUSE/,
  )
  taken.close()
})

async function endOf(settings: Record<string, string>): Promise<string> {
  const env = { PATH: process.env['PATH'], ...settings }
  const child = spawn(process.execPath, [PROXY], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  return text(child.stderr)
}
