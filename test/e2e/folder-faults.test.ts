import { expect, test } from '@jest/globals'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderBody, folderHas, folderWhen, refreshed } from '../support/folder.ts'
import { invoked } from '../support/invocation.ts'
import { moduleOf, serverWithRunner } from '../support/modules.ts'
import { runnerTreeOf } from '../support/processes.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { failedStart, Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { list, listedNames, tool } from '../support/tool.ts'
import { until } from '../support/until.ts'

test('a folder that is named and not there keeps the server from starting, in one sentence', async () => {
  using data = temporaryFolder()
  const nowhere = join(data.path, 'nowhere')
  const ended = await failedStart({ data: data.path, env: { TOOLRACK_TOOLS_DIR: nowhere } })
  expect(ended).toMatchObject({
    code: 78,
    stderr: `TOOLRACK_TOOLS_DIR: ${nowhere} is not a folder that can be read.\n`,
  })
})

test('without a runner the definitions files are served, each module waits with the reason, and a refresh does not', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.py'), moduleOf('notes', 'a'))
  const reason = 'No Python was found: install one.'
  await using server = await Server.start({
    args: [`--no-python=${reason}`],
    env: { TOOLRACK_TOOLS_DIR: folder.path },
  })
  expect((await list(server)).length).toBeGreaterThan(5)
  const waiting = { checking: [{ file: 'notes.py', reason }], skipped: [] }
  expect(
    await folderWhen(server, ({ checking }) => checking.some((one) => one.reason !== null)),
  ).toMatchObject({
    ...waiting,
    tools: [],
  })
  expect(await refreshed(server)).toMatchObject(waiting)
  const { layers } = (await (await server.fetch('/health')).json()) as { layers: { file: object } }
  expect(layers.file).toMatchObject({ status: 'fresh', skipped: [] })
})

withPython('the folder of the home is watched where none is named, also when it is made later', async () => {
  await using server = await Server.start({ args: [`--python=${PYTHON}`] })
  expect(await folderWhen(server, ({ status }) => status !== 'starting')).toMatchObject({
    status: 'missing',
    folder: join(server.data, '.toolrack', 'tools'),
    tools: [],
  })
  const folder = join(server.data, '.toolrack', 'tools')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'notes.py'), moduleOf('notes', 'a'))
  await folderHas(server, ['notes:a'])
  await server.stop()
  await server.restart()
  await folderHas(server, ['notes:a'])
  expect(await listedNames(server, 'names=notes:a,READ_FILE')).toEqual(['READ_FILE', 'notes:a'])
})

withPython(
  'a runner that is killed in the middle of a check is asked again when it is back, and nothing is lost',
  async () => {
    using folder = temporaryFolder()
    const at = (file: string): string => join(folder.path, file)
    writeFileSync(at('notes.py'), moduleOf('notes', 'a'))
    await using server = await serverWithRunner({ env: { TOOLRACK_TOOLS_DIR: folder.path } })
    await folderHas(server, ['notes:a'])
    const [runner = 0, ...idle] = runnerTreeOf(server.pid)
    writeFileSync(at('notes.py'), `import time\ntime.sleep(3)\n${moduleOf('notes', 'a', 'b')}`)
    writeFileSync(at('other.py'), moduleOf('other', 'c'))
    await until(
      () => Promise.resolve(runnerTreeOf(server.pid)),
      (now) => now.some((pid) => !idle.includes(pid) && pid !== runner),
    )
    process.kill(runner, 'SIGKILL')
    const { checking } = await folderWhen(server, (body) =>
      body.checking.some(({ reason }) => reason !== null),
    )
    expect(checking.find(({ file }) => file === 'notes.py')?.reason).toMatch(/^The runner /)
    // The runner may be back already.
    expect(await listedNames(server, 'category=notes')).toContain('notes:a')
    await folderHas(server, ['notes:a', 'notes:b', 'other:c'])
    expect((await invoked(server, 'notes:b', { text: 'back' }))[1]).toMatchObject({
      textResultForLlm: 'back',
    })
  },
)

withPython('a runner that has forgotten a module is sent its source with the call', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.py'), moduleOf('notes', 'a'))
  await using server = await serverWithRunner({ env: { TOOLRACK_TOOLS_DIR: folder.path } })
  const { tools } = await folderHas(server, ['notes:a'])
  const [runner = 0] = runnerTreeOf(server.pid)
  process.kill(runner, 'SIGKILL')
  const [, result] = await until(
    () => invoked(server, 'notes:a', { text: 'again' }),
    ([status]) => status === 200,
  )
  expect(result).toMatchObject({ textResultForLlm: 'again', meta: { digest: tools[0]?.['digest'] } })
  const module = (await folderBody(server)).tools
  expect(module).toEqual(tools)
})

withPython('a folder that can not be read any more leaves what it last held, and is told', async () => {
  using outer = temporaryFolder()
  const folder = join(outer.path, 'tools')
  mkdirSync(folder)
  writeFileSync(join(folder, 'notes.py'), moduleOf('notes', 'a'))
  await using server = await serverWithRunner({ env: { TOOLRACK_TOOLS_DIR: folder } })
  await folderHas(server, ['notes:a'])
  renameSync(folder, `${folder}-away`)
  writeFileSync(folder, 'a file in its place')
  expect(await folderWhen(server, ({ status }) => status === 'unreadable')).toMatchObject({
    reason: 'It is not a folder. What it last held goes on.',
    tools: [{ name: 'notes:a' }],
  })
  expect((await invoked(server, 'notes:a', { text: 'on' }))[1]).toMatchObject({ textResultForLlm: 'on' })
  rmSync(folder)
  renameSync(`${folder}-away`, folder)
  await folderWhen(server, ({ status }) => status === 'watched')
  expect((await folderBody(server)).tools).toMatchObject([{ name: 'notes:a' }])
})

function family(...tools: unknown[]): string {
  return JSON.stringify({ family: 'f', tools })
}

withPython(
  'a definitions file that changes shows beside the modules, and they beside one that is broken',
  async () => {
    using folder = temporaryFolder()
    using definitions = temporaryFolder()
    writeFileSync(join(definitions.path, 'a.json'), family(tool('one')))
    writeFileSync(join(folder.path, 'notes.py'), moduleOf('notes', 'a'))
    await using server = await serverWithRunner({
      definitions: definitions.path,
      env: { TOOLRACK_TOOLS_DIR: folder.path },
    })
    await folderHas(server, ['notes:a'])
    expect(await listedNames(server)).toEqual(['notes:a', 'one'])
    writeFileSync(join(definitions.path, 'a.json'), family(tool('two'), tool('notes:a')))
    await until(
      () => listedNames(server),
      (names) => names.join() === 'notes:a,two',
    )
    expect((await folderBody(server)).tools).toEqual([])
    writeFileSync(join(definitions.path, 'a.json'), '{')
    await until(
      () => listedNames(server),
      (names) => names.join() === 'notes:a',
    )
    expect((await folderBody(server)).tools).toMatchObject([{ name: 'notes:a', file: 'notes.py' }])
  },
)
