import { afterAll, expect } from '@jest/globals'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BAD, SPECS } from '../support/bad-modules.ts'
import type { Bad } from '../support/bad-modules.ts'
import { folderBody, folderHas, folderWhen } from '../support/folder.ts'
import { invoked } from '../support/invocation.ts'
import { moduleOf, sharedServerWithRunner } from '../support/modules.ts'
import { runnerTreeOf } from '../support/processes.ts'
import { withPython } from '../support/runner-environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listedNames, tool } from '../support/tool.ts'
import { until } from '../support/until.ts'

const outer = temporaryFolder()
afterAll(() => outer[Symbol.dispose]())
const [folder, definitions] = [join(outer.path, 'tools'), join(outer.path, 'defs')]
mkdirSync(folder)
mkdirSync(definitions)
const at = (file: string): string => join(folder, file)
const define = (...tools: unknown[]): void =>
  writeFileSync(join(definitions, 'f.json'), JSON.stringify({ family: 'f', tools }))

define(tool('one'))
writeFileSync(at('notes.py'), moduleOf('notes', 'find'))
/** Given up after 20 seconds; the others are checked meanwhile. */
writeFileSync(at('hung.py'), `import time\n\ntime.sleep(1_000)\n${SPECS}`)
const started = sharedServerWithRunner({
  definitions,
  env: { TOOLRACK_TOOLS_DIR: folder, K_SERVICE: 'toolrack', FIRESTORE_EMULATOR_HOST: '' },
})

/** A path is no name of a file. */
const IN_A_FOLDER = BAD.filter(({ name }) => !name?.includes('/'))

/** The fault is shown in the words that an upload is refused with, and the old version serves. */
async function expectExplained({ kind, code = 'MODULE_INVALID', source, message, name = 'notes' }: Bad) {
  const server = await started()
  const file = `${name}.py`
  const before = await folderWhen(server, ({ tools }) => tools.some((tool) => tool.file === 'notes.py'))
  const good = before.tools.find((one) => one.file === 'notes.py')
  writeFileSync(at(file), source)
  const { skipped } = await folderWhen(server, (body) =>
    body.skipped.some((skip) => skip.file === file && skip.kind === kind && message.test(skip.message)),
  )
  const skip = skipped.find((one) => one.file === file)
  expect(skip).toMatchObject({ reason: code, kind, message: expect.stringMatching(message) })
  expect(skip?.serving).toBe(name === 'notes' ? good?.sha256 : null)
  expect(await listedNames(server, 'category=notes')).toEqual(['notes:find'])
  if (name !== 'notes') rmSync(at(file))
}

for (const bad of IN_A_FOLDER)
  withPython(
    `${bad.kind} in the folder is told as by an upload, and the old version serves: ${bad.message}`,
    () => expectExplained(bad),
  )

withPython('after all of them the old version is still called, and mended the file is back', async () => {
  const server = await started()
  expect(await invoked(server, 'notes:find', { text: 'still here' })).toMatchObject([
    200,
    { resultType: 'success', textResultForLlm: 'still here' },
  ])
  writeFileSync(at('notes.py'), moduleOf('notes', 'find', 'mended'))
  await folderHas(server, ['notes:find', 'notes:mended'], 'notes.py')
  expect(await listedNames(server, 'category=notes')).toEqual(['notes:find', 'notes:mended'])
  const { skipped } = await folderBody(server)
  expect(skipped.filter(({ file }) => file === 'notes.py')).toEqual([])
})

withPython(
  'a program that collects the log gets one JSON line for each change, with every fault',
  async () => {
    const server = await started()
    const start = server.log.length
    const told = (): readonly { readonly file?: string }[] =>
      server.log
        .slice(start, server.log.lastIndexOf('\n') + 1)
        .split(/(?<=\n)/)
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { readonly file?: string })
        .filter(({ file }) => file === 'logged.py')
    const count = (wanted: number) =>
      until(
        () => Promise.resolve(told().length),
        (lines) => lines >= wanted,
      )
    writeFileSync(at('logged.py'), 'def a(:\n')
    await count(1)
    writeFileSync(at('logged.py'), moduleOf('logged', 'a'))
    await count(2)
    await server.fetch('/workflows/tools/list')
    expect(told()).toEqual([
      {
        severity: 'WARNING',
        message: 'module refused, with faults',
        file: 'logged.py',
        faults: ["logged.py, line 1: Python can't read this (column 7): invalid syntax."],
        serving: false,
      },
      { severity: 'INFO', message: 'module loaded', file: 'logged.py', tools: 1 },
    ])
  },
)

function isHung({ file }: { readonly file: string }): boolean {
  return file === 'hung.py'
}

withPython('a file that waits for ever on import is given up, and held up no other', async () => {
  const server = await started()
  const ask = () => folderWhen(server, ({ skipped }) => skipped.some(isHung))
  const { skipped } = await ask().catch(ask).catch(ask)
  expect(skipped.find(isHung)).toMatchObject({
    reason: 'MODULE_BROKEN',
    kind: 'import_hung',
    message: expect.stringMatching(/^hung\.py, line 3: importing the module did not end within 20 s\. Move/),
  })
})

withPython('a folder that can not be read any more leaves what it last held, and is told', async () => {
  const server = await started()
  writeFileSync(at('kept.py'), moduleOf('kept', 'a'))
  const { tools } = await folderHas(server, ['kept:a'], 'kept.py')
  renameSync(folder, `${folder}-away`)
  writeFileSync(folder, 'a file in its place')
  const { reason, ...body } = await folderWhen(server, ({ status }) => status === 'unreadable')
  expect(reason).toBe('It is not a folder. What it last held goes on.')
  expect(body.tools).toEqual(tools)
  expect((await invoked(server, 'kept:a', { text: 'on' }))[1]).toMatchObject({ textResultForLlm: 'on' })
  rmSync(folder)
  renameSync(`${folder}-away`, folder)
  await folderWhen(server, ({ status }) => status === 'watched')
  expect((await folderBody(server)).tools).toEqual(tools)
})

withPython(
  'a definitions file that changes shows beside the modules, and they beside one that is broken',
  async () => {
    const server = await started()
    const names = () => listedNames(server, 'names=one,two,beside:a')
    const ofFile = async () => (await folderBody(server)).tools.filter(({ file }) => file === 'beside.py')
    writeFileSync(at('beside.py'), moduleOf('beside', 'a'))
    await folderHas(server, ['beside:a'], 'beside.py')
    expect(await names()).toEqual(['beside:a', 'one'])
    define(tool('two'), tool('beside:a'))
    await until(names, (now) => now.join() === 'beside:a,two')
    expect(await ofFile()).toEqual([])
    writeFileSync(join(definitions, 'f.json'), '{')
    await until(names, (now) => now.join() === 'beside:a')
    expect(await ofFile()).toMatchObject([{ name: 'beside:a', file: 'beside.py' }])
  },
)

withPython(
  'a runner that is killed in the middle of a check is asked again when it is back, is sent forgotten modules with their calls, and nothing is lost',
  async () => {
    const server = await started()
    writeFileSync(at('forgotten.py'), moduleOf('forgotten', 'a'))
    writeFileSync(at('cut.py'), moduleOf('cut', 'a'))
    const forgotten = (await folderHas(server, ['forgotten:a'], 'forgotten.py')).tools.find(
      ({ name }) => name === 'forgotten:a',
    )
    await folderHas(server, ['cut:a'], 'cut.py')
    const [runner = 0, ...idle] = runnerTreeOf(server.pid)
    writeFileSync(at('cut.py'), `import time\ntime.sleep(3)\n${moduleOf('cut', 'a', 'b')}`)
    writeFileSync(at('other.py'), moduleOf('other', 'c'))
    await until(
      () => Promise.resolve(runnerTreeOf(server.pid)),
      (now) => now.some((pid) => !idle.includes(pid) && pid !== runner),
    )
    process.kill(runner, 'SIGKILL')
    const { checking } = await folderWhen(server, (body) =>
      body.checking.some(({ file, reason }) => file === 'cut.py' && reason !== null),
    )
    expect(checking.find(({ file }) => file === 'cut.py')?.reason).toMatch(/^The runner /)
    // The runner may be back already.
    expect(await listedNames(server, 'category=cut')).toContain('cut:a')

    const [, result] = await until(
      () => invoked(server, 'forgotten:a', { text: 'again' }),
      ([status]) => status === 200,
    )
    expect(result).toMatchObject({ textResultForLlm: 'again', meta: { digest: forgotten?.['digest'] } })
    const { tools } = await folderBody(server)
    expect(tools.find(({ name }) => name === 'forgotten:a')).toEqual(forgotten)

    await folderHas(server, ['cut:a', 'cut:b'], 'cut.py')
    await folderHas(server, ['other:c'], 'other.py')
    expect((await invoked(server, 'cut:b', { text: 'back' }))[1]).toMatchObject({ textResultForLlm: 'back' })
  },
)
