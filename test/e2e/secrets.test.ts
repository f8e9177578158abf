import { afterAll, expect } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { everySpelling } from '../../functions/src/redaction/spellings.ts'
import { filesBelow } from '../support/canaries.ts'
import { serverWithRunner, sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { leaked, unfoundPlanted } from '../support/secret-leaks.ts'
import { failedStart, type Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { unsignedTokens } from '../support/two-users/unsigned-tokens.ts'

const KEY = 'wk-Zq7/+ö"31 & more'
const ENV = { TOOLRACK_RUNNER_NETWORK_ALLOW: '127.0.0.0/8,::1/128', TOOLRACK_GRANTS: 'accept' }

/** An API that wants a key. */
const asked: (string | undefined)[] = []
const api = createServer((req, res) => {
  const { authorization } = req.headers
  asked.push(authorization)
  const isRight = authorization === `Bearer ${encodeURIComponent(KEY)}`
  res.writeHead(isRight ? 200 : 401).end(isRight ? '21 degrees' : 'no')
}).listen(0, '127.0.0.1')
await once(api, 'listening')
afterAll(() => {
  api.close().closeAllConnections()
})
const { port } = api.address() as AddressInfo

const WEATHER = `
import urllib.parse
import urllib.request

def report(place: str, context: dict) -> str:
    "Tells the weather."
    key = urllib.parse.quote(context["secrets"]["WEATHER_KEY"], safe="!'()*")
    request = urllib.request.Request("http://localhost:${port}/", headers={"Authorization": "Bearer " + key})
    print("asking with", key, "that is", context["secrets"])
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode() + " at " + place + ", asked with " + str(request.header_items())

TOOL_SPECS = [
    {"name": "weather:report", "handler": report, "secrets": ["WEATHER_KEY"], "network": ["localhost:${port}"]}
]
`

const CLI = fileURLToPath(new URL('functions/src/hosts/local/secrets-cli.ts', ROOT))
const FORGET = fileURLToPath(new URL('functions/src/hosts/local/forget-secrets-cli.ts', ROOT))

function run(program: string, data: string, args: readonly string[], input = '') {
  const env = { ...process.env, TOOLRACK_DATA: data }
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    env,
    input,
    encoding: 'utf8',
  })
  return { status, said: stdout + stderr }
}

function secrets(data: string, args: readonly string[], input?: string) {
  return run(CLI, data, args, input)
}

async function invoke(server: Server, name: string, args: object, query = ''): Promise<InvocationResult> {
  const body = JSON.stringify({ name, arguments: args })
  return (
    await server.fetch(`/workflows/tools/invoke${query}`, { method: 'POST', body })
  ).json() as Promise<InvocationResult>
}

const started = sharedServerWithRunner({ env: ENV })

withPython('a tool with an API key calls the API, and the key appears nowhere', async () => {
  const server = await started()
  await uploaded(server, 'weather', WEATHER, { headers: server.approver })
  const missing = await invoke(server, 'weather:report', { place: 'Bern' })
  expect(missing).toMatchObject({
    code: 'SECRET_MISSING',
    error: expect.stringMatching(
      /^weather:report needs the secret WEATHER_KEY, which you have not stored; nothing was run\. Store it: npm run secrets -- set WEATHER_KEY, /,
    ),
  })
  expect(await invoke(server, 'weather:report', { place: 'Bern' }, '?dryRun=1')).toMatchObject({
    code: 'SECRET_MISSING',
  })
  expect(secrets(server.data, ['set', 'WEATHER_KEY'], `${KEY}\n`)).toEqual({
    status: 0,
    said: 'WEATHER_KEY is stored (layer user). Nobody can read it again.\n',
  })
  const dry = await invoke(server, 'weather:report', { place: KEY }, '?dryRun=1')
  expect(dry).toMatchObject({ decision: 'allow' })
  const result = await invoke(server, 'weather:report', { place: KEY })
  expect(result).toMatchObject({
    resultType: 'success',
    textResultForLlm: expect.stringMatching(/^21 degrees at \[redacted\], asked with /),
  })
  expect(asked.at(-1)).toBe(`Bearer ${encodeURIComponent(KEY)}`)
  const id = result.meta.invocationId
  const read = async (path: string) =>
    (await server.fetch(`/workflows${path}`, { headers: server.approver })).text()
  const log = await read(`/tools/invocations/${id}/log`)
  expect(log).toContain('asking with [redacted] that is')
  const audit = await read('/audit?limit=100')
  expect(audit).toContain('"arguments":{"place":"[redacted]"}')
  const places = {
    result: JSON.stringify([dry, result]),
    log,
    audit,
    listed: await read('/secrets'),
    calls: await read('/tools/invocations'),
    terminal: server.said + server.log,
    files: filesBelow(server.data),
  }
  expect(places.files).toContain('WEATHER_KEY')
  for (const [place, text] of Object.entries(places))
    for (const spelled of everySpelling(KEY))
      expect([place, spelled, text.includes(spelled)]).toEqual([place, spelled, false])
})

withPython('of secrets that tools give away in every form and way, none is found anywhere', async () => {
  const server = await started()
  expect(await leaked(server, 50, 7)).toEqual([])
  expect(await unfoundPlanted(server)).toEqual([])
})

const THROWS = `
import textwrap

def run(way: str, context: dict) -> object:
    "Fails with a secret in its hands."
    s = context["secrets"]["LONG_KEY"]
    if way == "group":
        raise ExceptionGroup("g", [ValueError(s), ExceptionGroup("h", [KeyError(s)])])
    if way == "chain":
        raise KeyError(s) from ValueError(s * 3)
    if way == "int":
        return int(s)
    if way == "open":
        return open(s)
    if way == "key":
        return {s: object()}
    if way == "indent":
        return textwrap.indent(s, "  ")
    if way == "print":
        print(s * 60)
    if way == "kill":
        import os
        print("so", s[:300], end="", flush=True)
        os._exit(3)
    raise ValueError("bad key: " + s)

TOOL_SPECS = [{"name": "throws:run", "handler": run, "secrets": ["LONG_KEY"]}]
`

withPython('no part of a long secret is in an error, a text or a log, wherever it was cut', async () => {
  const server = await started()
  const body = randomBytes(2_000).toString('base64').replaceAll(/.{64}/g, '$&\n')
  const key = `-----BEGIN KEY-----\n${body}\n-----END KEY-----\n`
  expect(secrets(server.data, ['set', 'LONG_KEY'], key).status).toBe(0)
  await uploaded(server, 'throws', THROWS, { headers: server.approver })
  for (const way of ['raise', 'group', 'chain', 'int', 'open', 'key', 'indent', 'print', 'kill']) {
    const result = await invoke(server, 'throws:run', { way })
    const log = await server.fetch(`/workflows/tools/invocations/${result.meta.invocationId}/log`)
    const said = JSON.stringify(result) + (await log.text())
    expect([way, said]).toEqual([way, expect.stringContaining('[redacted]')])
    const parts = Array.from({ length: 200 }, (_, at) => body.slice(at * 13, at * 13 + 12)).filter(
      (part) => !part.includes('\n') && said.includes(part),
    )
    expect([way, parts]).toEqual([way, []])
  }
})

withPython(
  'a secret of another user is missing like one that nobody has, and global tools get the own secret only after consent',
  async () => {
    await using tokens = await unsignedTokens()
    using data = temporaryFolder()
    const secretsKey = Buffer.alloc(32, 7).toString('base64')
    const env = { ...tokens.env, ...ENV, TOOLRACK_SECRETS_KEY: secretsKey }
    const as = (name: string) => ({ Authorization: `Bearer ${tokens.tokenOf(name)}` })
    await using server = await serverWithRunner({ data: data.path, env }, as('watcher'))
    const put = async (who: string, name: string, value: string) =>
      (
        await server.fetch(`/workflows/secrets/${name}`, {
          method: 'PUT',
          body: JSON.stringify({ value }),
          headers: as(who),
        })
      ).status
    const call = async (who: string, tool: string) => {
      const body = JSON.stringify({ name: tool, arguments: {} })
      const answer = await server.fetch('/workflows/tools/invoke', { method: 'POST', body, headers: as(who) })
      return (await answer.json()) as InvocationResult & { readonly error?: string }
    }
    const source = `
def show(context: dict) -> int:
    "Tells how long the secret is."
    return len(context["secrets"]["SHARED_NAME"])

TOOL_SPECS = [{"name": "lengths:show", "handler": show, "secrets": ["SHARED_NAME"]}]
`
    for (const who of ['ann', 'bob']) await uploaded(server, 'lengths', source, { headers: as(who) })
    const before = await call('bob', 'lengths:show')
    expect(await put('ann', 'SHARED_NAME', 'the secret of ann')).toBe(204)
    expect(await call('ann', 'lengths:show')).toMatchObject({ data: 'the secret of ann'.length })
    const after = await call('bob', 'lengths:show')
    expect([before.error, after.error]).toEqual([after.error, before.error])
    expect(after).toMatchObject({
      code: 'SECRET_MISSING',
      error: expect.stringContaining('the secret SHARED_NAME'),
    })
  },
)

withPython('the command lists, rotates and deletes, and says when no server runs', async () => {
  const server = await started()
  const before = readFileSync(join(server.data, 'secrets-keys.json'), 'utf8')
  expect(statSync(join(server.data, 'secrets-keys.json')).mode & 0o777).toBe(0o600)
  expect(secrets(server.data, ['set', 'OF_ALL', '--layer', 'global'], 'a global value').status).toBe(0)
  expect(secrets(server.data, ['list', '--layer', 'global']).said).toMatch(/^OF_ALL {2}\d{4}-/)
  expect(secrets(server.data, ['rotate']).said).toMatch(
    /^\d+ secrets were sealed again\. The key is [\da-f]{16} now\.\n$/,
  )
  expect(readFileSync(join(server.data, 'secrets-keys.json'), 'utf8')).not.toBe(before)
  expect(secrets(server.data, ['set', 'OF_ALL'], 'short')).toEqual({
    status: 1,
    said: 'The value cannot be stored: it must have at least 8 bytes without the blanks at its ends, because a shorter text cannot be removed from results and logs. Nothing was stored.\n',
  })
  expect(secrets(server.data, ['set', 'of_all'], 'a global value')).toEqual({
    status: 1,
    said: 'of_all cannot be the name of a secret: capital letters, digits and _, at most 128, and no digit first. Nothing was stored.\n',
  })
  expect(secrets(server.data, ['delete', 'OF_ALL', '--layer', 'global']).status).toBe(0)
  expect(secrets(server.data, ['delete', 'OF_ALL', '--layer', 'global'])).toEqual({
    status: 1,
    said: 'There is no global secret of that name.\n',
  })
  using none = temporaryFolder()
  expect(secrets(none.path, ['list'])).toMatchObject({
    status: 1,
    said: expect.stringContaining('No server runs with the data folder'),
  })
})

const TYPED = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while b"not shown" not in said:
    said += os.read(terminal, 1000)
os.write(terminal, b"typed valuX\\x7fe\\r")
try:
    while True:
        said += os.read(terminal, 1000)
except OSError:
    pass
print(said.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

withPython('a value that is typed at the terminal is not shown', async () => {
  const server = await started()
  const env = { ...process.env, TOOLRACK_DATA: server.data }
  const command = [process.execPath, CLI, 'set', 'TYPED']
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', TYPED, ...command], { env, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toContain('TYPED is stored')
  expect(stdout).not.toContain('typed')
})

withPython(
  'a server does not start without the key of its secrets, and starts with a copy of it or without the secrets',
  async () => {
    using data = temporaryFolder()
    const [keys, copy] = [join(data.path, 'secrets-keys.json'), join(data.path, 'users-copy')]
    await using server = await serverWithRunner({ data: data.path, env: ENV })
    expect(secrets(data.path, ['set', 'MINE'], 'a value of mine').status).toBe(0)
    await server.stop()
    copyFileSync(keys, copy)
    rmSync(keys)
    const failed = await failedStart({ data: data.path })
    expect(failed.code).toBe(65)
    expect(failed.stderr).toMatch(
      /^The stored secrets of tools are sealed with the key [\da-f]{16}, and \S+secrets-keys\.json does not have it\./m,
    )
    writeFileSync(keys, readFileSync(copy))
    await server.restart()
    expect(secrets(data.path, ['list']).said).toMatch(/^MINE /)
    expect(run(FORGET, data.path, [])).toMatchObject({
      status: 1,
      said: expect.stringContaining('Another Toolrack server uses'),
    })
    await server.stop()
    rmSync(keys)
    expect((await failedStart({ data: data.path })).code).toBe(65)
    expect(run(FORGET, data.path, [])).toEqual({
      status: 0,
      said: '1 secrets whose key is missing were deleted. The others stay.\n',
    })
    await server.restart()
    expect(secrets(data.path, ['list']).said).toBe('There are no secrets (layer user).\n')
  },
)
