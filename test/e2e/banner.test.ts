import { expect, test } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InvocationResult, ListedTool } from '@toolrack/contract'
import { banner } from '../../functions/src/hosts/local/banner.ts'
import { folderHas } from '../support/folder.ts'
import { moduleOf, serverWithRunner } from '../support/modules.ts'
import { hasCurl, pasted } from '../support/printed-lines.ts'
import { withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { until } from '../support/until.ts'

const withCurl = testWhere(hasCurl, 'curl is missing: the printed lines can not be tried.')

function names(list: string): readonly string[] {
  return (JSON.parse(list) as ListedTool[]).map((listed) => listed.function.name)
}

withPython('the printed lines list the tools, upload a file and call one of its tools', async () => {
  expect(hasCurl).toBe(true)
  await using server = await serverWithRunner()
  const answers = await pasted(server.said)
  expect(answers).toHaveLength(3)
  const [listed = '', uploaded = '', called = ''] = answers
  expect(names(listed)).toContain('READ_FILE')
  expect(JSON.parse(uploaded)).toMatchObject({ name: 'weather', outcome: 'created' })
  const result = JSON.parse(called) as InvocationResult
  expect(result).toMatchObject({ resultType: 'success', textResultForLlm: 'Bern: cloudy for 1 day(s).' })
})

withPython('where a folder of modules is watched, a line shows what is loaded from it', async () => {
  using home = temporaryFolder()
  const folder = join(home.path, '.toolrack/tools')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'notes.py'), moduleOf('notes', 'find'))
  await using server = await serverWithRunner({ env: { HOME: home.path } })
  expect(server.said).toContain(`files in ${folder} are loaded`)
  await until(
    async () => server.fetch('/workflows/tools/list?names=notes:find').then((answer) => answer.text()),
    (listed) => listed !== '[]',
  )
  const [answer = ''] = (await pasted(server.said)).slice(-1)
  expect(JSON.parse(answer)).toMatchObject({ folder, tools: [{ name: 'notes:find', file: 'notes.py' }] })
})

withPython('the folder of the specification is watched too, and the own folder comes first', async () => {
  using home = temporaryFolder()
  const [own = '', specified = ''] = ['.toolrack', '.copilot-web'].map((name) =>
    join(home.path, name, 'tools'),
  )
  mkdirSync(specified, { recursive: true })
  writeFileSync(join(specified, 'notes.py'), moduleOf('notes', 'find'))
  await using server = await serverWithRunner({ env: { HOME: home.path } })
  expect(server.said).toContain(`files in ${specified} are loaded`)
  const [alone] = [await folderHas(server, ['notes:find'])]
  expect(alone).toMatchObject({ folder: specified, status: 'watched' })
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'notes.py'), moduleOf('notes', 'find', 'keep'))
  writeFileSync(join(specified, 'tasks.py'), moduleOf('tasks', 'add'))
  const both = await folderHas(server, ['notes:find', 'notes:keep', 'tasks:add'])
  expect(both).toMatchObject({ folder: own, others: [{ folder: specified, status: 'watched' }] })
  expect(both.skipped).toMatchObject([{ reason: 'NAME_TAKEN', name: 'notes:find' }])
})

withCurl(
  'without Python the printed lines list the tools, define one and list it again; after kill -9 it is still there',
  async () => {
    await using server = await Server.start()
    expect(server.said).toContain('Python tools do not run here.')
    const [listed = '', defined = '', after = '', ...rest] = await pasted(server.said)
    expect(rest).toEqual([])
    expect(names(listed)).toContain('READ_FILE')
    expect(JSON.parse(defined)).toMatchObject({ name: 'SAY_HELLO', outcome: 'created' })
    expect(names(after)).toEqual(['SAY_HELLO'])
    await server.kill9()
    await server.restart()
    expect(await (await server.fetch('/workflows/tools/list?names=SAY_HELLO')).text()).toBe(after)
  },
)

test('where users come with Firebase tokens there is nothing to copy', () => {
  const printed = banner({ url: 'http://127.0.0.1:8787', token: undefined, watched: ['/tools'] }, 1)
  expect(printed).not.toMatch(/^ {2}/m)
  expect(printed).toContain('Firebase ID tokens')
})
