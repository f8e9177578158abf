import { expect } from '@jest/globals'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { moduleOf, serverWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

/** The lines about modules since `start`, when they contain `text`. Nothing asks the server for a list meanwhile. */
async function said(server: Server, start: number, text: string): Promise<string> {
  const log = await until(
    () => Promise.resolve(server.log.slice(start)),
    (lines) => lines.includes(text),
  )
  return log
}

withPython(
  'a saved file is told once at the terminal: its faults, what stays in use, and that it works again',
  async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'notes.py')
    await using server = await serverWithRunner({ env: { TOOLRACK_TOOLS_DIR: folder.path } })
    const save = async (source: string, text: string): Promise<string> => {
      const start = server.log.length
      writeFileSync(file, source)
      return said(server, start, text)
    }

    expect(await save('def a(:\n', 'syntax')).toBe(
      "module  notes.py  is refused\n      notes.py, line 1: Python can't read this (column 7): invalid syntax.\n",
    )
    expect(await save(moduleOf('notes', 'a'), 'works')).toBe('module  notes.py  works again: 1 tool\n')
    const broken = `${moduleOf('notes', 'a')}\nraise ValueError("\\x1b[31m\\nmodule  forged.py  loaded: 1 tool")\n`
    const refused = await save(broken, 'forged')
    expect(refused).toMatch(
      /^module {2}notes\.py {2}is refused; the last version that worked stays in use\n {6}notes\.py, line 9: /,
    )
    expect(refused).not.toContain('\u001b')
    expect(refused).not.toMatch(/^module {2}forged/m)
    // The same faults of other content are told again: the author has saved, and waits for a word.
    expect(await save(`${broken}\n`, 'notes.py, line 9')).toMatch(/^module {2}notes\.py {2}is refused; /)

    const partly = moduleOf('notes', 'a', 'b').replace('"notes:b"', '"other:b"')
    const left = await save(partly, 'left out')
    expect(left.split('\n').slice(0, 2)).toEqual([
      'module  notes.py  loaded: 1 tool, and some are left out',
      expect.stringMatching(/^ {6}notes\.py, line \d+: 'other:b': /),
    ])
    const start = server.log.length
    rmSync(file)
    expect(await said(server, start, 'removed')).toBe('module  notes.py  is removed\n')

    // The specs of a module of several files may stand in any of its files.
    const beforeFolder = server.log.length
    mkdirSync(join(folder.path, 'multi'))
    writeFileSync(join(folder.path, 'multi/specs.py'), partly.replaceAll('notes', 'multi'))
    writeFileSync(join(folder.path, 'multi/__init__.py'), 'from .specs import TOOL_SPECS\n')
    expect((await said(server, beforeFolder, 'other:b')).split('\n').slice(0, 2)).toEqual([
      'module  multi/__init__.py  loaded: 1 tool, and some are left out',
      expect.stringMatching(/^ {6}multi\/specs\.py, line \d+: 'other:b': /),
    ])
    // A list reads the layer again, and must not tell the same again in another form.
    expect(server.log).not.toContain('definition skipped')
  },
)

withPython(
  'a program that collects the log gets one JSON line for each change, with every fault',
  async () => {
    using folder = temporaryFolder()
    await using server = await serverWithRunner({
      env: { TOOLRACK_TOOLS_DIR: folder.path, K_SERVICE: 'toolrack', FIRESTORE_EMULATOR_HOST: '' },
    })
    const file = join(folder.path, 'notes.py')
    const start = server.log.length
    writeFileSync(file, 'def a(:\n')
    await said(server, start, 'syntax')
    writeFileSync(file, moduleOf('notes', 'a'))
    const lines = (await said(server, start, 'module loaded')).trim().split('\n')
    await server.fetch('/workflows/tools/list')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        severity: 'WARNING',
        message: 'module refused, with faults',
        file: 'notes.py',
        faults: ["notes.py, line 1: Python can't read this (column 7): invalid syntax."],
        serving: false,
      },
      { severity: 'INFO', message: 'module loaded', file: 'notes.py', tools: 1 },
    ])
  },
)
