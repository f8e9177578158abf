import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { modelProfile } from '@toolrack/contract'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { serverWithRunner } from '../support/modules.ts'
import { asPattern, commandsOf, printedBy } from '../support/page-commands.ts'
import { withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { until } from '../support/until.ts'

const CHOOSE = 'docs/how-to/choose-tools.md'
const APPROVE = 'docs/how-to/approve-and-forbid.md'
const SECRET = 'x'.repeat(16)

const read = (page: string): string => readFileSync(new URL(page, ROOT), 'utf8')

/** What the service has sent to the webhook of approvals. */
const messages: { readonly signature: string; readonly body: string }[] = []
const webhook = createServer((request, response) => {
  void text(request).then((body) => {
    messages.push({ signature: String(request.headers['x-toolrack-signature']), body })
    response.end()
  })
})
beforeAll(async () => {
  await once(webhook.listen(0, '127.0.0.1'), 'listening')
})

/** The folder of the reader, in which the server's data is as in a checkout. */
const folder = mkdtempSync(join(tmpdir(), 'toolrack-how-to-'))
afterAll(() => {
  webhook.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs all commands of a page, and compares what each block prints with what the page shows. */
async function follow(page: string, server: Server): Promise<void> {
  const data = join(folder, '.toolrack')
  rmSync(data, { force: true })
  symlinkSync(server.data, data)
  const blocks = commandsOf(read(page))
  expect(blocks.length).toBeGreaterThan(5)
  const change = (command: string): string => command.replaceAll('http://127.0.0.1:8787', server.url)
  const printed = await printedBy(blocks, { folder, change })
  const other = blocks.flatMap(({ line, shown = '' }, index) => {
    const found = printed[index] ?? 'nothing was run'
    return asPattern(shown).test(found) ? [] : [{ line, shown, printed: found }]
  })
  expect(other).toEqual([])
}

test(`${CHOOSE}: each command prints what the page shows`, async () => {
  await using server = await Server.start()
  await follow(CHOOSE, server)
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
    const { port } = webhook.address() as AddressInfo
    const env = {
      TOOLRACK_APPROVALS_WEBHOOK: `http://127.0.0.1:${port}/`,
      TOOLRACK_APPROVALS_WEBHOOK_SECRET: SECRET,
    }
    await using server = await serverWithRunner({ env })
    const [, module = ''] = /```python\n(.*?)```/s.exec(read(APPROVE)) ?? []
    writeFileSync(join(folder, 'notes.py'), module)
    await follow(APPROVE, server)
    await expectAccepted(rulesOfTable(), server)
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
