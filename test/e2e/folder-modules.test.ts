import { afterAll, expect } from '@jest/globals'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderBody, folderHas, folderWhen, refreshed } from '../support/folder.ts'
import { invoked } from '../support/invocation.ts'
import { sha256Of } from '../support/module-changes.ts'
import { sharedServerWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const outer = temporaryFolder()
const path = join(outer.path, 'tools')
mkdirSync(path)
afterAll(() => outer[Symbol.dispose]())
const at = (file: string): string => join(path, file)
const started = sharedServerWithRunner({ env: { TOOLRACK_TOOLS_DIR: path } })

/** The `__init__.py` of a module whose one tool answers what its sibling `words.py` says. */
function init(name: string): string {
  return `from .words import WORD\n\ndef say() -> str:\n    """Says it."""\n    return WORD\n\nTOOL_SPECS = [{"name": "${name}:say", "handler": say}]\n`
}

/** Writes such a module as an editor does, one file after another. */
function save(name: string, word: string): void {
  mkdirSync(at(name), { recursive: true })
  writeFileSync(at(`${name}/__init__.py`), init(name))
  writeFileSync(at(`${name}/words.py`), `WORD = "${word}"\n`)
}

async function said(server: Server, name: string): Promise<string> {
  return (await invoked(server, `${name}:say`))[1].textResultForLlm
}

const says = (server: Server, name: string, word: string): Promise<string> =>
  until(
    () => said(server, name),
    (text) => text === word,
  )

const faultsOf = async (server: Server, name: string) =>
  (await folderWhen(server, ({ skipped }) => skipped.some(({ file }) => file.startsWith(`${name}/`)))).skipped

withPython('a folder with __init__.py is a module, which is told with its files', async () => {
  const server = await started()
  save('hello', 'hi')
  await says(server, 'hello', 'hi')
  const files = { '__init__.py': init('hello'), 'words.py': 'WORD = "hi"\n' }
  const { tools } = await folderHas(server, ['hello:say'], 'hello/__init__.py')
  expect(tools.find(({ name }) => name === 'hello:say')).toMatchObject({
    file: 'hello/__init__.py',
    module: 'hello',
    category: 'hello',
    files: Object.keys(files),
    sha256: sha256Of(files),
  })
  const one = await (await server.fetch('/api/tools/hello:say')).json()
  expect(one).toMatchObject({ files: Object.keys(files), report: { name: 'hello:say', accepted: true } })
})

withPython(
  'a spec in another file is told with the place where it stands, also if it is refused',
  async () => {
    const server = await started()
    const sibling = init('place').replace('from .words import WORD', 'WORD = "placed"')
    mkdirSync(at('place'))
    writeFileSync(at('place/__init__.py'), 'from .specs import TOOL_SPECS\n')
    writeFileSync(at('place/specs.py'), sibling.replace(']\n', ', {"name": "place:bad", "handler": 1}]\n'))
    await says(server, 'place', 'placed')
    const { tools, skipped } = await folderBody(server)
    expect(tools.find(({ name }) => name === 'place:say')).toMatchObject({ file: 'place/specs.py', line: 7 })
    expect(skipped).toMatchObject([
      {
        file: 'place/specs.py',
        kind: 'handler_not_callable',
        message: expect.stringMatching(/^place\/specs\.py, line 7: /),
      },
    ])
    rmSync(at('place'), { recursive: true })
    await folderWhen(server, (body) => body.skipped.length === 0)
  },
)

withPython(
  'a changed sibling is called; a broken one is told with its line, and the old version goes on',
  async () => {
    const server = await started()
    save('sib', 'one')
    await says(server, 'sib', 'one')
    const serving = sha256Of({ '__init__.py': init('sib'), 'words.py': 'WORD = "one"\n' })
    writeFileSync(at('sib/words.py'), 'WORD = (\n')
    expect(await faultsOf(server, 'sib')).toMatchObject([
      {
        file: 'sib/__init__.py',
        kind: 'syntax_error',
        message: expect.stringMatching(/^sib\/words\.py, line 1: /),
        serving,
      },
    ])
    expect(await said(server, 'sib')).toBe('one')
    writeFileSync(at('sib/words.py'), Buffer.from('WORD = "caf\u00e9"\n', 'latin1'))
    await folderWhen(server, ({ skipped }) => skipped.some(({ kind }) => kind === 'source_not_utf8'))
    expect(await faultsOf(server, 'sib')).toMatchObject([
      { message: expect.stringMatching(/^sib\/words\.py, line 1: byte 0xE9 is not UTF-8\. /), serving },
    ])
    rmSync(at('sib/words.py'))
    await folderWhen(server, ({ skipped }) => skipped.some(({ kind }) => kind === 'import_sibling_missing'))
    symlinkSync('/etc/hostname', at('sib/words.py'))
    await folderWhen(server, ({ skipped }) => skipped.some(({ kind }) => kind === 'file_outside'))
    expect(await said(server, 'sib')).toBe('one')
    rmSync(at('sib/words.py'))
    writeFileSync(at('sib/words.py'), 'WORD = "two"\n')
    await says(server, 'sib', 'two')
    expect((await folderBody(server)).skipped).toEqual([])
  },
)

withPython(
  'without its __init__.py, or under another name, a folder is no module; put back, it is',
  async () => {
    const server = await started()
    save('main', 'here')
    await says(server, 'main', 'here')
    renameSync(at('main/__init__.py'), at('main/init.py'))
    await folderHas(server, [], 'main/__init__.py')
    expect((await refreshed(server)).skipped).toEqual([])
    expect(await said(server, 'main')).toBe('Unsupported tool: main:say')
    renameSync(at('main/init.py'), at('main/__init__.py'))
    await says(server, 'main', 'here')
    rmSync(at('main/__init__.py'))
    await folderHas(server, [], 'main/__init__.py')
    writeFileSync(at('main/.__init__.py.swp'), init('main'))
    renameSync(at('main/.__init__.py.swp'), at('main/__init__.py'))
    await says(server, 'main', 'here')
    renameSync(at('main'), at('other'))
    await folderHas(server, [], 'main/__init__.py')
    expect(await faultsOf(server, 'other')).toMatchObject([
      { file: 'other/__init__.py', kind: 'name_prefix' },
    ])
    rmSync(at('other'), { recursive: true })
    await folderWhen(server, ({ skipped }) => skipped.length === 0)
  },
)

withPython(
  'an __init__.py that is replaced again and again, atomically and not, never loses its last content',
  async () => {
    const server = await started()
    save('busy', 'first')
    await says(server, 'busy', 'first')
    for (let version = 1; version <= 50; version += 1) {
      writeFileSync(at('busy/words.py'), `WORD = "${version}"\n`)
      if (version % 2 === 0) rmSync(at('busy/__init__.py'))
      else renameSync(at('busy/__init__.py'), at('busy/__init__.py~'))
      writeFileSync(at('busy/__init__.py'), init('busy'))
    }
    await says(server, 'busy', '50')
  },
)
