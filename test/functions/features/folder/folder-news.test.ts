import { expect, test } from '@jest/globals'
import { FolderReporter } from '../../../../functions/src/features/folder/folder-news.ts'

type Present = Parameters<FolderReporter['news']>[0]
type File = Present['files'] extends ReadonlyMap<string, infer Value> ? Value : never

const LOADED = { sha256: 'good' } as File['loaded']

/** The state of a folder with one file. Its specs are `tools`, and its faults those of the whole file. */
function folder(file: Partial<File> & { readonly left?: string }, checking: readonly string[] = []): Present {
  const { left, ...rest } = file
  const faults = rest.faults ?? []
  const known = { file: 'a.py', stamp: '', faults, ...rest }
  const details = left === undefined ? faults : [{ reason: 'NAME_TAKEN', message: left } as const]
  return {
    files: new Map([['a.py', known]]),
    tools: rest.loaded
      ? ([{ file: 'a.py', mainFile: 'a.py', name: 'a:b' }] as unknown as Present['tools'])
      : [],
    skipped: details.map((detail) => ({ file: 'a.py', mainFile: 'a.py', detail, serving: null })),
    checking: new Set(checking),
  }
}

const BROKEN = [{ reason: 'MODULE_BROKEN', message: 'a.py, line 1: wrong.' }] as const

test('each content is told once, and a file that is being checked only when its check has ended', () => {
  const reporter = new FolderReporter()
  expect(reporter.news(folder({ sha256: '1' }, ['a.py']))).toEqual([])
  const refused = folder({ sha256: '1', faults: BROKEN })
  expect(reporter.news(refused)).toMatchObject([
    { kind: 'refused', serving: false, faults: ['a.py, line 1: wrong.'] },
  ])
  expect(reporter.news(refused)).toEqual([])
  // The faults of the old content, while the new one is being checked.
  expect(reporter.news(folder({ sha256: '2', faults: BROKEN }, ['a.py']))).toEqual([])
  expect(reporter.news(folder({ sha256: '2', faults: BROKEN }))).toMatchObject([{ kind: 'refused' }])
  expect(reporter.news(folder({ sha256: 'good', loaded: LOADED }))).toEqual([
    { kind: 'loaded', file: 'a.py', again: true, tools: 1, faults: [] },
  ])
  expect(reporter.news(folder({ sha256: '3', loaded: LOADED, faults: BROKEN }))).toMatchObject([
    { kind: 'refused', serving: true },
  ])
  // The author has undone the change.
  expect(reporter.news(folder({ sha256: 'good', loaded: LOADED }))).toMatchObject([{ again: true }])
})

test('a name that another file has taken is told for a file that has not changed', () => {
  const reporter = new FolderReporter()
  const present = { sha256: 'good', loaded: LOADED }
  expect(reporter.news(folder(present))).toMatchObject([{ kind: 'loaded', again: false, faults: [] }])
  expect(reporter.news(folder({ ...present, left: 'taken by b.py' }))).toMatchObject([
    { kind: 'loaded', again: false, faults: ['taken by b.py'] },
  ])
  expect(reporter.news(folder(present))).toMatchObject([{ kind: 'loaded', again: true, faults: [] }])
})

test('a removed file is told once, and only if it was told before', () => {
  const reporter = new FolderReporter()
  const empty: Present = { files: new Map(), tools: [], skipped: [], checking: new Set() }
  reporter.news(folder({ sha256: '1' }, ['a.py']))
  expect(reporter.news(empty)).toEqual([])
  reporter.news(folder({ sha256: 'good', loaded: LOADED }))
  expect(reporter.news(empty)).toEqual([{ kind: 'removed', file: 'a.py' }])
  expect(reporter.news(empty)).toEqual([])
})
