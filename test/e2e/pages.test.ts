import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { modelProfile } from '@toolrack/contract'
import type { ListedTool } from '@toolrack/contract'
import { execFile, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseJobKeys } from '../../functions/src/access/job-keys.ts'
import { parseConfig } from '../../functions/src/hosts/config.ts'
import { VERSION } from '../../functions/src/version.ts'
import { serverWithRunner } from '../support/modules.ts'
import { follow, read } from '../support/follow-page.ts'
import { PACKAGE_SECTIONS, sectionsOf } from '../support/page-commands.ts'
import { rawExchange } from '../support/raw-http.ts'
import { withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

/** The pages for users, followed by a reader. Each page begins without what the pages before it have made. */

const CHOOSE = 'docs/how-to/choose-tools.md'
const APPROVE = 'docs/how-to/approve-and-forbid.md'
const SECRET = 'x'.repeat(16)

/** What the service has sent to the webhook of approvals. */
const messages: { readonly signature: string; readonly body: string }[] = []
const webhook = createServer((request, response) => {
  void text(request).then((body) => {
    messages.push({ signature: String(request.headers['x-toolrack-signature']), body })
    response.end()
  })
})

/** A server without Python, and one with it, which the first test with Python starts. */
let plain: Server
let starting: Promise<Server> | undefined
beforeAll(async () => {
  await once(webhook.listen(0, '127.0.0.1'), 'listening')
  plain = await Server.start()
})
afterAll(async () => {
  webhook.close()
  await plain[Symbol.asyncDispose]()
  await (await starting)?.[Symbol.asyncDispose]()
})

function withRunner(): Promise<Server> {
  const { port } = webhook.address() as AddressInfo
  const env = {
    TOOLRACK_APPROVALS_WEBHOOK: `http://127.0.0.1:${port}/`,
    TOOLRACK_APPROVALS_WEBHOOK_SECRET: SECRET,
  }
  return (starting ??= serverWithRunner({ env }))
}

/** Deletes what another page may have made under the same name. */
async function forget(server: Server, path: string): Promise<void> {
  const answer = await server.fetch(`/workflows/${path}`, { method: 'DELETE', headers: server.approver })
  expect([200, 204, 404]).toContain(answer.status)
}

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const frontPage = (accept: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${plain.url}/`, { headers: { ...headers, Accept: accept } })

test('curl gets a text at /: what this is, whether it works, where the documents are', async () => {
  const answer = await frontPage('*/*')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  const shown = await answer.text()
  expect(shown).toMatch(new RegExp(`^Toolrack ${VERSION.replaceAll('.', String.raw`\.`)}\n`))
  expect(shown).toContain('\nIt works.\nPython tools do not run now.')
  const documents = [...shown.matchAll(/^ {2}(\S+\.md) /gm)].map(([, path = '']) => path)
  expect(documents).toContain('docs/how-to/run.md')
  for (const path of documents) expect(read(path)).toMatch(/^# /)
})

test('a browser gets a page at / that loads nothing, with the policy of firebase.json', async () => {
  const answer = await frontPage(BROWSER)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const { hosting } = JSON.parse(read('firebase.json')) as {
    hosting: { headers: { headers: { key: string; value: string }[] }[] }
  }
  const wanted = hosting.headers.flatMap(({ headers }) => headers)
  const policy = wanted.find(({ key }) => key === 'Content-Security-Policy')?.value
  expect(policy).toMatch(/^default-src 'none';/)
  expect(answer.headers.get('content-security-policy')).toBe(policy)
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  const html = await answer.text()
  expect(html).toMatch(/^<!doctype html>\n[^]*<h1>Toolrack [^]*<strong>It works\.<\/strong>/)
  expect(html).not.toMatch(/<(?:script|style|link|img|iframe|form)|\b(?:src|href|style|on\w+)=|https?:/i)
})

test('a cache keeps the text and the page at / apart, and keeps neither for others', async () => {
  for (const accept of ['*/*', BROWSER]) {
    const { headers } = await frontPage(accept)
    expect([headers.get('vary'), headers.get('cache-control')]).toEqual(['Accept', 'private, no-cache'])
  }
})

test('a request of / without Accept, and one with a wrong token, get the text too', async () => {
  const { status, body } = await rawExchange(
    plain.url,
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  )
  expect([status, body]).toEqual([200, await (await frontPage('*/*')).text()])
  const wrong = await frontPage('*/*', { Authorization: 'Bearer wrong' })
  expect([wrong.status, await wrong.text()]).toEqual([200, body])
})

test('/ holds nothing that /health hides without a token, and knows GET alone', async () => {
  for (const accept of ['*/*', BROWSER]) {
    const shown = await (await frontPage(accept, { Authorization: `Bearer ${plain.token}` })).text()
    for (const secret of [plain.token, plain.data]) expect(shown).not.toContain(secret)
  }
  const answer = await plain.fetch('/', { method: 'POST' })
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
})

const RUN = read('docs/how-to/run.md')
const CONFIGURATION = read('docs/reference/configuration.md')
const USERS = fileURLToPath(new URL('functions/src/hosts/local/users-cli.ts', ROOT))
const withSqlite = spawnSync('sqlite3', ['--version']).status === 0 ? test : test.skip

/** Runs a line of a page, with this Node as `node`. */
function shell(line: string, cwd: string) {
  const env = { PATH: `${join(process.execPath, '..')}:${process.env['PATH']}` }
  return spawnSync('sh', ['-c', line], { cwd, env, encoding: 'utf8' })
}

test('the commands of docs/how-to/run.md that add users print two tokens each', () => {
  using data = temporaryFolder()
  const commands = [...RUN.matchAll(/^npm run users -- (.+)$/gm)].map(([, args = '']) => args.split(' '))
  expect(commands.length).toBe(2)
  for (const args of commands) {
    const env = { PATH: process.env['PATH'], TOOLRACK_DATA: data.path }
    const { status, stdout } = spawnSync(process.execPath, [USERS, ...args], { env, encoding: 'utf8' })
    expect([status, stdout.match(/token +\S{43}$/gm)?.length]).toEqual([0, 2])
  }
})

withSqlite('the commands of docs/how-to/run.md copy the databases of a running server', () => {
  const commands = RUN.match(/^sqlite3 \.toolrack\/.+$/gm) ?? []
  expect(commands.length).toBe(3)
  for (const command of commands) {
    const { status, stderr } = shell(command.replace('.toolrack/', ''), plain.data)
    expect([command, status, stderr]).toEqual([command, 0, ''])
    const [, copy = ''] = /\.backup (\S+)"/.exec(command) ?? []
    using database = new DatabaseSync(join(plain.data, copy))
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    expect(database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.['tables']).not.toBe(0)
  }
})

test('the file of docs/reference/configuration.md is a right configuration', () => {
  using folder = temporaryFolder()
  const [, config = ''] = /^```json\n([^]+?)^```$/m.exec(CONFIGURATION) ?? []
  const path = join(folder.path, 'toolrack.json')
  writeFileSync(path, config)
  expect(parseConfig({ TOOLRACK_CONFIG: path })).toMatchObject({ port: 9405 })
})

test('the command of docs/reference/configuration.md prints a set of keys that the service takes', () => {
  const [line = ''] = /^node -e .+$/m.exec(CONFIGURATION) ?? []
  const { stdout, stderr } = shell(line, '/')
  expect(stderr).toBe('')
  expect(parseJobKeys(stdout.trim())).toBeDefined()
})

test('docs/explanation/audit.md, docs/how-to/choose-tools.md and docs/reference/definitions.md, one after the other on a new server: each command prints what the page shows', async () => {
  // The first page shows three records.
  for (let call = 0; call < 3; call += 1) {
    const body = JSON.stringify({ name: 'ECHO', arguments: { text: 'hello' } })
    await (await plain.fetch('/workflows/tools/invoke', { method: 'POST', body })).text()
  }
  expect(await follow('docs/explanation/audit.md', plain)).toHaveLength(1)
  expect((await follow(CHOOSE, plain)).length).toBeGreaterThan(5)
  expect(await follow('docs/reference/definitions.md', plain)).toHaveLength(3)
})

test(`${CHOOSE} says how many tools a model is given`, () => {
  const [, large = '', small = ''] = /: 128 for (.*?);\n.*30, (.*?)\. `dialect`/s.exec(read(CHOOSE)) ?? []
  const profiles = [large, small].map((names) =>
    Array.from(names.matchAll(/`([^`]+)`/g), ([, name = '']) => modelProfile(name)),
  )
  expect(profiles.map((each) => each.length)).toEqual([8, 6])
  expect(profiles[0]?.filter((profile) => profile?.toolsMax !== 128 || !profile.defers)).toEqual([])
  expect(profiles[1]?.filter((profile) => profile?.toolsMax !== 30 || profile.defers)).toEqual([])
})

withPython(
  `${APPROVE}: each command prints what the page shows, the table's rules are accepted, and the webhook gets its message`,
  async () => {
    const server = await withRunner()
    const [, module = ''] = /```python\n(.*?)```/s.exec(read(APPROVE)) ?? []
    expect((await follow(APPROVE, server, { 'notes.py': module })).length).toBeGreaterThan(5)
    await expectAccepted(rulesOfTable(), server)
    await forget(server, 'rules/user/local')
    await until(
      () => Promise.resolve(messages.length),
      (count) => count > 0,
    )
    expectMessage()
  },
)

/** The rules of the first table of the page, each as a body of rules. */
function rulesOfTable(): string[] {
  const cells = Array.from(read(APPROVE).matchAll(/^\| [^|]+ \| (`[^|]+`) \|$/gm), ([, cell = '']) => cell)
  return cells.slice(0, 5).map((cell) => {
    const [first = '', second] = Array.from(cell.matchAll(/`([^`]+)`/g), ([, code = '']) => code)
    return second === undefined ? `{"rules":[${first}]}` : `{${first},"rules":[${second}]}`
  })
}

async function expectAccepted(bodies: readonly string[], server: Server): Promise<void> {
  expect(bodies.map((body) => (JSON.parse(body) as { rules: object[] }).rules.length)).toEqual([
    1, 1, 1, 1, 1,
  ])
  for (const body of bodies) {
    const init = { method: 'PUT', headers: server.approver, body }
    const answer = await server.fetch('/workflows/rules/user/local', init)
    expect([body, answer.ok, await answer.text()]).toEqual([body, true, expect.any(String)])
  }
}

/** The first message is signed as the page says, and has the keys that it shows. */
function expectMessage(): void {
  const [, signature = '', shown = ''] = /X-Toolrack-Signature: (.*)\n(\{.*\})\n/.exec(read(APPROVE)) ?? []
  expect(signature).toMatch(/^t=\d+,v1=[0-9a-f]+…$/)
  const { signature: signed, body } = messages[0] ?? { signature: '', body: '' }
  const [, time = ''] = /^t=(\d+)/.exec(signed) ?? []
  const code = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex')
  expect(signed).toBe(`t=${time},v1=${code}`)
  const sent = JSON.parse(body) as object
  const said = JSON.parse(shown) as object
  expect(Object.keys(sent)).toEqual(Object.keys(said))
  for (const each of [sent, said])
    expect(each).toMatchObject({ type: 'approval.pending', tool: 'notes:write' })
}

withPython('docs/tutorial.md: each command prints what is shown, and so does the server', async () => {
  const server = await withRunner()
  await forget(server, 'tools/modules/greeter')
  const steps = await follow('docs/tutorial.md', server)
  expect(steps.flatMap(({ printed }) => printed).length).toBeGreaterThan(2)
})

// `npm run test:packages` runs the other sections.
withPython('docs/how-to/write-a-tool.md: each command that needs no index prints what is shown', async () => {
  const page = 'docs/how-to/write-a-tool.md'
  const server = await withRunner()
  const steps = await follow(page, server, {}, sectionsOf(read(page), PACKAGE_SECTIONS, 'without'))
  expect(steps.flatMap(({ printed }) => printed).length).toBeGreaterThan(2)
})

withPython('docs/reference/http.md: each command prints what the page shows', async () => {
  const server = await withRunner()
  await forget(server, 'tools/defs/SAY_HELLO')
  expect((await follow('docs/reference/http.md', server)).length).toBeGreaterThan(8)
})

withPython('the README uploads the example, lists its tools and calls one', async () => {
  const README = read('README.md')
  const server = await withRunner()
  await forget(server, 'tools/modules/greeter')
  using folder = temporaryFolder()
  const [, module = ''] = /```python\n(.*?)```/s.exec(README) ?? []
  writeFileSync(join(folder.path, 'greeter.py'), module)
  const found = README.replaceAll('\\\n', ' ').match(/^curl .*$/gm) ?? []
  const first = found.findIndex((line) => line.includes('tools/modules/'))
  const [upload = '', list = '', call = ''] = found.slice(first, first + 3)
  async function run(line: string): Promise<unknown> {
    const command = line.replace('curl ', 'curl -sSf ').replaceAll('http://127.0.0.1:8787', server.url)
    const env = { ...process.env, T: server.token }
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { cwd: folder.path, env })
    return JSON.parse(stdout)
  }
  expect(await run(upload)).toMatchObject({ name: 'greeter', outcome: 'created' })
  const listed = (await run(list)) as ListedTool[]
  expect(listed.map((tool) => tool.function.name)).toEqual(['greeter:hello'])
  expect(await run(call)).toMatchObject({ resultType: 'success', textResultForLlm: 'Hello Ada!' })
})
