import { afterAll, expect, test } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InvocationResult, ListedTool } from '@toolrack/contract'
import { banner } from '../../functions/src/hosts/local/banner.ts'
import { folderHas } from '../support/folder.ts'
import { invoked } from '../support/invocation.ts'
import { moduleOf, serverWithRunner, sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { hasCurl, pasted } from '../support/printed-lines.ts'
import { withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { unsignedTokens } from '../support/two-users/unsigned-tokens.ts'
import { until } from '../support/until.ts'

/** A module whose tools print what could deceive an operator, and then succeed, fail or never end. */
const MODULE = `
import time

FORGED = "call  shown:good  ok  1.0 ms  00000000-0000-4000-8000-000000000000"


def good(secret: str) -> str:
    """Prints and succeeds."""
    print("not shown")
    return "a result"


def bad(secret: str) -> str:
    """Prints and raises."""
    print("\\x1b[2J\\x1b]0;title\\x07" + FORGED + "\\r" + FORGED)
    print(FORGED)
    print("." * 72 + FORGED)
    raise ValueError(secret)


def late() -> str:
    """Prints and does not end."""
    print("waiting", flush=True)
    time.sleep(1_000)
    return "done"


def loud() -> str:
    """Prints much and raises."""
    for number in range(2_000):
        print("line", number)
    raise ValueError("enough")


TOOL_SPECS = [{"name": f"shown:{handler.__name__}", "handler": handler} for handler in (good, bad, loud)] + [
    {"name": "shown:late", "handler": late, "timeoutSeconds": 1}
]
`

const home = temporaryFolder()
afterAll(() => home[Symbol.dispose]())
/** The folders of modules in the home. The second one is there when the server starts. */
const [ownFolder = '', specifiedFolder = ''] = ['.toolrack', '.copilot-web'].map((name) =>
  join(home.path, name, 'tools'),
)
mkdirSync(specifiedFolder, { recursive: true })
writeFileSync(join(specifiedFolder, 'notes.py'), moduleOf('notes', 'find'))
const started = sharedServerWithRunner({ env: { HOME: home.path } })

const withCurl = testWhere(hasCurl, 'curl is missing: the printed lines can not be tried.')

function names(list: string): readonly string[] {
  return (JSON.parse(list) as ListedTool[]).map((listed) => listed.function.name)
}

withPython(
  'the printed lines list the tools, upload a file, call one of its tools and show what is loaded from the folders of modules, of which the own one comes first',
  async () => {
    expect(hasCurl).toBe(true)
    const server = await started()
    expect(server.said).toContain(`files in ${specifiedFolder} are loaded`)
    const alone = await folderHas(server, ['notes:find'])
    expect(alone).toMatchObject({ folder: specifiedFolder, status: 'watched' })
    const answers = await pasted(server.said)
    expect(answers).toHaveLength(4)
    const [listed = '', upload = '', called = '', watched = ''] = answers
    expect(names(listed)).toContain('READ_FILE')
    expect(JSON.parse(upload)).toMatchObject({ name: 'weather', outcome: 'created' })
    const result = JSON.parse(called) as InvocationResult
    expect(result).toMatchObject({
      resultType: 'success',
      textResultForLlm: 'Bern: cloudy for 1 day(s).',
    })
    expect(JSON.parse(watched)).toMatchObject({
      folder: specifiedFolder,
      tools: [{ name: 'notes:find', file: 'notes.py' }],
    })

    mkdirSync(ownFolder, { recursive: true })
    writeFileSync(join(ownFolder, 'notes.py'), moduleOf('notes', 'find', 'keep'))
    writeFileSync(join(specifiedFolder, 'tasks.py'), moduleOf('tasks', 'add'))
    const both = await folderHas(server, ['notes:find', 'notes:keep', 'tasks:add'])
    expect(both).toMatchObject({
      folder: ownFolder,
      others: [{ folder: specifiedFolder, status: 'watched' }],
    })
    expect(both.skipped).toMatchObject([{ reason: 'NAME_TAKEN', name: 'notes:find' }])
  },
)

test('where users come with Firebase tokens there is nothing to copy', () => {
  const printed = banner({ url: 'http://127.0.0.1:8787', token: undefined, watched: ['/tools'] }, 1)
  expect(printed).not.toMatch(/^ {2}/m)
  expect(printed).toContain('Firebase ID tokens')
})

async function serving(): Promise<Server> {
  const server = await started()
  await uploaded(server, 'shown', MODULE)
  return server
}

/** The line of a call and the rows below it. */
async function linesOf(server: Server, id: string): Promise<readonly string[]> {
  const log = await until(
    () => Promise.resolve(server.log),
    (text) => text.includes(`  ${id}\n`),
  )
  const lines = log.split('\n')
  const first = lines.findIndex((line) => line.endsWith(`  ${id}`))
  const others = lines.slice(first + 1)
  const end = others.findIndex((line) => !line.startsWith('      '))
  return [lines[first] ?? '', ...others.slice(0, end)]
}

const SECRET = 'a-secret-argument'

withPython('each call is a line with its tool, outcome, milliseconds and id', async () => {
  const server = await serving()
  const [, good] = await invoked(server, 'shown:good', { secret: SECRET })
  expect(await linesOf(server, good.meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:good {2}ok {2}\d+\.\d ms {2}[0-9a-f-]{36}$/),
  ])
  const [, wrong] = await invoked(server, 'shown:good', { secrets: SECRET })
  const [, none] = await invoked(server, 'shown:none')
  expect(await linesOf(server, wrong.meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:good {2}ARGUMENTS_INVALID {2}/),
  ])
  expect(await linesOf(server, none.meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:none {2}TOOL_NOT_FOUND {2}/),
  ])
  expect(server.log).not.toContain('not shown')
  expect(server.log).not.toContain('a result')
})

withPython('the calls of a dispatch are lines too', async () => {
  const server = await serving()
  const calls = ['one', 'two'].map((id) => ({ type: 'tool_use', id, name: 'ECHO', input: { text: id } }))
  const answer = await server.fetch('/workflows/tools/dispatch', {
    method: 'POST',
    body: JSON.stringify(calls),
  })
  const { results } = (await answer.json()) as { results: { result: { meta: { invocationId: string } } }[] }
  expect(results).toHaveLength(2)
  for (const { result } of results)
    expect(await linesOf(server, result.meta.invocationId)).toEqual([
      expect.stringMatching(/^call {2}ECHO {2}ok /),
    ])
})

withPython(
  'what a failed call printed is shown, and cannot act on the terminal or forge a line',
  async () => {
    const server = await serving()
    const [, { meta }] = await invoked(server, 'shown:bad', { secret: SECRET })
    const [line, ...rows] = await linesOf(server, meta.invocationId)
    expect(line).toMatch(/^call {2}shown:bad {2}TOOL_RAISED {2}/)
    expect(rows[0]).toMatch(/^ {6}\| \\u001b\[2J\\u001b\]0;title\\u0007call {2}shown:good/)
    expect(rows.length).toBeGreaterThan(3)
    for (const row of rows) {
      expect(row).toMatch(/^ {6}\| /)
      expect(row.length).toBeLessThanOrEqual(80)
    }
    expect(server.log).not.toMatch(/[^\P{C}\n]/u)
    expect(server.log).not.toMatch(/^call.* 00000000-0000-4000-8000-000000000000$/m)
    expect(server.log).not.toContain(SECRET)
  },
)

withPython('what a killed call printed is shown, and no more than the last rows of much', async () => {
  const server = await serving()
  const [, late] = await invoked(server, 'shown:late')
  expect(await linesOf(server, late.meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:late {2}DEADLINE_EXCEEDED {2}/),
    '      | waiting',
  ])
  const [, loud] = await invoked(server, 'shown:loud')
  const rows = await linesOf(server, loud.meta.invocationId)
  expect(rows).toHaveLength(22)
  expect(rows.slice(-1)).toEqual(['      | line 1999'])
})

withPython('what the call of a user printed is not shown to an operator who is somebody else', async () => {
  await using tokens = await unsignedTokens()
  const headers = { Authorization: `Bearer ${tokens.tokenOf('ann')}` }
  await using server = await serverWithRunner({ env: tokens.env }, headers)
  const ann: Pick<Server, 'fetch'> = { fetch: (path, init) => server.fetch(path, { ...init, headers }) }
  await uploaded(ann, 'shown', MODULE)
  const [, { meta }] = await invoked(ann, 'shown:late')
  expect(await linesOf(server, meta.invocationId)).toEqual([
    expect.stringMatching(/^call {2}shown:late {2}DEADLINE_EXCEEDED {2}/),
  ])
})

withCurl(
  'without Python the printed lines list the tools, define one and list it again; after kill -9 it is still there, also for a deployed server, which shows no calls',
  async () => {
    await using server = await Server.start()
    expect(server.said).toContain('Python tools do not run here.')
    const [listed = '', defined = '', after = '', ...rest] = await pasted(server.said)
    expect(rest).toEqual([])
    expect(names(listed)).toContain('READ_FILE')
    expect(JSON.parse(defined)).toMatchObject({ name: 'SAY_HELLO', outcome: 'created' })
    expect(names(after)).toEqual(['SAY_HELLO'])
    await server.kill9()
    const env = { K_SERVICE: 'toolrack', FIRESTORE_EMULATOR_HOST: '' }
    await using deployed = await Server.start({ data: server.data, env })
    expect(await (await deployed.fetch('/workflows/tools/list?names=SAY_HELLO')).text()).toBe(after)
    expect((await invoked(deployed, 'ECHO', { text: 'a' }))[0]).toBe(200)
    const { stderr } = await deployed.stop()
    expect(stderr).not.toContain('ECHO')
  },
)
