import { expect, test } from '@jest/globals'
import { afterRead } from '../../../../functions/src/features/folder/folder-file.ts'
import type {
  FileRead,
  FolderFile,
  LoadedModule,
} from '../../../../functions/src/features/folder/folder-file.ts'

const loaded: LoadedModule = {
  name: 'notes',
  sha256: 'good',
  source: '',
  specs: [],
  tools: [],
  report: {},
  grants: [],
  loadedAt: new Date(0),
}
const fault = { reason: 'MODULE_BROKEN', message: 'It is broken.' } as const
const good: FolderFile = { file: 'notes.py', stamp: '1', sha256: 'good', loaded, faults: [] }
const broken: FolderFile = { ...good, stamp: '2', sha256: 'bad', faults: [fault] }

function content(sha256: string, stamp = '3'): FileRead {
  return { found: 'content', source: Buffer.from(sha256), sha256, stamp, changedMs: 0 }
}

test('what is the same, or is known by its content, stays the same object and is not checked', () => {
  expect(afterRead(good, { found: 'same' }, true)).toEqual({ next: good, check: 'leave' })
  expect(afterRead(good, { found: 'same' }, true).next).toBe(good)
  expect(afterRead(good, content('good', '1'), true).next).toBe(good)
  expect(afterRead(good, content('good', '2'), true)).toEqual({
    next: { ...good, stamp: '2' },
    check: 'leave',
  })
})

test('new content is checked, and meanwhile the last good one goes on beside what was wrong before', () => {
  const next = { file: 'notes.py', stamp: '3', sha256: 'new', loaded, faults: [fault] }
  expect(afterRead(broken, content('new'), false)).toEqual({ next, check: 'want' })
})

test('content that is put back serves again without a check', () => {
  expect(afterRead(broken, content('good'), false)).toEqual({ next: { ...good, stamp: '3' }, check: 'drop' })
})

test('content that was refused is checked again only where that is asked for', () => {
  expect(afterRead(broken, content('bad', '2'), false)).toEqual({ next: broken, check: 'leave' })
  expect(afterRead(broken, content('bad', '2'), true)).toEqual({ next: broken, check: 'want' })
})

test('what can not be read any more leaves the last good content serving, and is told once', () => {
  const unreadable: FileRead = { found: 'fault', fault, stamp: '', changedMs: 0 }
  const { next, check } = afterRead(good, unreadable, false)
  expect({ next, check }).toEqual({
    next: { file: 'notes.py', stamp: '', loaded, faults: [fault] },
    check: 'drop',
  })
  expect(afterRead(next, unreadable, false).next).toBe(next)
})
