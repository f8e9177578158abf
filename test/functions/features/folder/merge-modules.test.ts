import { expect, test } from '@jest/globals'
import type { FolderFile } from '../../../../functions/src/features/folder/folder-file.ts'
import { mergeModules } from '../../../../functions/src/features/folder/folder-layer.ts'
import type { AdmittedSpec } from '../../../../functions/src/catalog/definitions/admit-spec.ts'
import { put, tool } from '../../../support/definition-changes.ts'
import { checkedModule } from '../../../support/reading-runner.ts'

/** A file whose module has these tools, whatever it is called: a real runner keeps names to their module. */
function fileOf(file: string, ...names: readonly string[]): FolderFile {
  const { tools: specs } = checkedModule(names.map((name) => `"${name}"`).join(' '))
  const admitted = specs.map((spec): AdmittedSpec => {
    const definition = tool(spec.name ?? '')
    const { text, digest } = put(definition)
    return { spec, admitted: { definition, text, digest, normalised: [], unenforced: [] }, faults: [] }
  })
  const tools = admitted.flatMap((spec) => spec.admitted ?? [])
  const loaded = {
    name: file,
    sha256: `of ${file}`,
    source: '',
    specs: admitted,
    tools,
    report: {},
    grants: [],
    loadedAt: new Date(0),
  }
  return { file, stamp: '', sha256: loaded.sha256, loaded, faults: [] }
}

test('a name is that of the first file that has it, and the other is told whose', () => {
  const files = [
    fileOf('a.py', 'x:one', 'x:two'),
    fileOf('b.py', 'x:two', 'x:three'),
    fileOf('c.py', 'x:two'),
  ]
  const { tools, skipped } = mergeModules(files, new Map())
  expect(tools.map(({ name, file }) => `${name} ${file}`)).toEqual([
    'x:one a.py',
    'x:two a.py',
    'x:three b.py',
  ])
  expect(skipped).toEqual(
    [
      ['b.py', 1],
      ['c.py', 1],
    ].map(([file, line]) => ({
      file,
      mainFile: file,
      detail: {
        reason: 'NAME_TAKEN',
        kind: 'name_taken',
        name: 'x:two',
        line,
        message: `${file}, line ${line}: the name 'x:two' is taken by a.py, line 2. Names are unique in the file layer; rename one of them.`,
      },
      serving: null,
    })),
  )
})

test('a name that is taken elsewhere is no file’s', () => {
  const { tools, skipped } = mergeModules(
    [fileOf('a.py', 'x:one', 'x:two')],
    new Map([['x:one', 'b.json#/tools/0']]),
  )
  expect(tools.map(({ name }) => name)).toEqual(['x:two'])
  expect(skipped).toMatchObject([
    { detail: { message: expect.stringContaining('taken by b.json#/tools/0') } },
  ])
})

test('the fault of a file is told beside what serves of it', () => {
  const fault = { reason: 'MODULE_BROKEN', message: 'broken' } as const
  const file = { ...fileOf('a.py', 'x:one'), faults: [fault] }
  const { tools, skipped } = mergeModules([file, { file: 'b.py', stamp: '', faults: [fault] }], new Map())
  expect(tools).toHaveLength(1)
  expect(skipped).toEqual([
    { file: 'a.py', mainFile: 'a.py', detail: fault, serving: 'of a.py' },
    { file: 'b.py', mainFile: 'b.py', detail: fault, serving: null },
  ])
})
