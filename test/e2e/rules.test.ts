import { expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failedStart, Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function namesOf(server: Server): Promise<readonly string[]> {
  const tools = (await (await server.fetch('/workflows/tools/list')).json()) as readonly {
    function: { name: string }
  }[]
  return tools.map((tool) => tool.function.name)
}

test("the operator's file and written rules hide and refuse tools, also after kill -9", async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'rules.json')
  writeFileSync(file, JSON.stringify({ rules: [{ effect: 'deny', tool: 'RUN_*' }] }))
  await using server = await Server.start({ env: { TOOLRACK_RULES_FILE: file } })
  const invoke = async (name: string): Promise<unknown> => {
    const body = JSON.stringify({ name, arguments: {} })
    return (await server.fetch('/workflows/tools/invoke', { method: 'POST', body })).json()
  }
  expect(await namesOf(server)).toEqual(expect.arrayContaining(['ECHO', 'READ_FILE']))
  expect(await namesOf(server)).not.toContain('RUN_COMMAND')
  expect(await invoke('RUN_COMMAND')).toMatchObject({
    code: 'PERMISSION_DENIED',
    meta: { decision: { owner: { kind: 'everybody', id: 'file' }, rule: 0 } },
  })
  const body = JSON.stringify({ rules: [{ effect: 'deny', tool: 'ECHO' }] })
  const headers = server.approver
  const written = await server.fetch('/workflows/rules/user/local', { method: 'PUT', body, headers })
  expect(written.status).toBe(201)
  expect(await namesOf(server)).not.toContain('ECHO')
  await server.kill9()
  await server.restart()
  expect(await namesOf(server)).not.toContain('ECHO')
  expect(await invoke('ECHO')).toMatchObject({ code: 'PERMISSION_DENIED' })
})

test('a file of rules with faults stops the start, which names them all', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'rules.json')
  writeFileSync(file, JSON.stringify({ default: 'no', rules: [{ effect: 'deny' }] }))
  const { code, stderr } = await failedStart({ data: folder.path, env: { TOOLRACK_RULES_FILE: file } })
  expect(code).toBe(78)
  expect(stderr).toMatch(/TOOLRACK_RULES_FILE .*\/default must be .*\/rules\/0\/tool must be/)
})
