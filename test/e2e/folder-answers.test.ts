import { afterAll, expect } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderHas, folderWhen } from '../support/folder.ts'
import { serverWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const outer = temporaryFolder()
const path = join(outer.path, 'tools')
mkdirSync(path)
afterAll(() => outer[Symbol.dispose]())

function save(description: string): void {
  const source = `def write() -> str:\n    """${description}"""\n    return "written"\n\nTOOL_SPECS = [{"name": "notes:write", "handler": write}]\n`
  writeFileSync(join(path, 'notes.py'), source)
}

/** The digest of the tool when the folder has another one than this. */
async function digestAfter(server: Server, before: unknown): Promise<unknown> {
  const { tools } = await folderWhen(
    server,
    (body) => body.checking.length === 0 && body.tools.some(({ digest }) => digest !== before),
  )
  return tools[0]?.['digest']
}

type Called = { readonly meta: { readonly approval?: { readonly id: string } } }

async function call(server: Server): Promise<{ readonly status: number; readonly id: string }> {
  const answer = await server.fetch('/workflows/tools/invoke', {
    method: 'POST',
    body: JSON.stringify({ name: 'notes:write', arguments: {} }),
  })
  const { meta } = (await answer.json()) as Called
  return { status: answer.status, id: meta.approval?.id ?? '' }
}

async function asApprover(server: Server, method: string, at: string, body: object): Promise<void> {
  const init = { method, headers: server.approver, body: JSON.stringify(body) }
  expect((await server.fetch(`/workflows${at}`, init)).status).toBeLessThan(300)
}

async function answerForAlways(server: Server): Promise<void> {
  const { status, id } = await call(server)
  expect(status).toBe(202)
  await asApprover(server, 'POST', `/approvals/${id}`, { decision: 'always' })
  expect((await call(server)).status).toBe(200)
}

withPython(
  'an answer for always about a module of the folder outlives a restart, and ends for good when its file changes there and back',
  async () => {
    save('Writes.')
    await using server = await serverWithRunner({ env: { TOOLRACK_TOOLS_DIR: path } })
    const first = await digestAfter(server, undefined)
    await asApprover(server, 'PUT', '/rules/user/local', { rules: [{ effect: 'ask', tool: 'notes:*' }] })
    await answerForAlways(server)
    await server.kill9()
    await server.restart()
    await folderHas(server, ['notes:write'])
    expect((await call(server)).status).toBe(200)
    save('Writes more.')
    const second = await digestAfter(server, first)
    save('Writes.')
    expect(await digestAfter(server, second)).toBe(first)
    expect((await call(server)).status).toBe(202)
  },
)
