import { expect, test } from '@jest/globals'
import { moduleLines } from '../../../../functions/src/hosts/local/module-lines.ts'
import type { FolderNews } from '../../../../functions/src/features/folder/folder-news.ts'

function shown(news: FolderNews, columns = 80): string {
  let text = ''
  moduleLines({ columns, write: (lines) => (text += lines) })(news)
  return text
}

test('only the first faults are shown, and how many more there are', () => {
  const faults = Array.from({ length: 8 }, (_, index) => `a.py, line ${index}: wrong.`)
  const lines = shown({ kind: 'refused', file: 'a.py', faults, serving: false }).split('\n')
  expect(lines).toEqual([
    'module  a.py  is refused',
    ...faults.slice(0, 5).map((fault) => `      ${fault}`),
    '      … and 3 more; GET /api/tools shows all',
    '',
  ])
})

test('no row is wider than the terminal or begins like a line of the service, whatever a module says', () => {
  const forged = `module  good.py  loaded: 1 tool\r\n\u001b[2Jmodule  good.py ${'x'.repeat(100)} ${'é'.repeat(60)}`
  const news = { kind: 'loaded', file: 'a\n.py', again: false, tools: 1, faults: [forged] } as const
  const [first, ...rows] = shown(news, 40).trimEnd().split('\n')
  expect(first).toBe(String.raw`module  a\u000a.py  loaded: 1 tool, and some are left out`)
  expect(rows.filter((row) => row.length > 40 || !row.startsWith('      '))).toEqual([])
  expect(rows.length).toBeGreaterThan(5)
  expect(rows.join('')).not.toContain('\u001b')
})

test('a narrow terminal gets rows of 20 columns and never hangs', () => {
  const text = shown({ kind: 'refused', file: 'a.py', faults: ['word '.repeat(20)], serving: true }, 1)
  expect(
    text
      .split('\n')
      .slice(1)
      .every((row) => row.length <= 26),
  ).toBe(true)
})

test('the command that accepts what a module asks for is in one row, also in a narrow terminal', () => {
  const module = 'a_module_with_a_long_name'
  const grants = [{ kind: 'network', value: 'api.example.com' }] as const
  const news = { kind: 'waits', file: `${module}.py`, layer: 'global', module, grants } as const
  expect(shown(news, 40).split('\n').slice(1)).toEqual([
    '      waits for consent: network',
    '      api.example.com. To accept:',
    `      npm run grants -- accept ${module} --layer global`,
    '',
  ])
})

const progress = (text: string) => ({ kind: 'progress', file: 'a.py', text }) as const

test('what is done with a file is one line, which is not wider than the terminal', () => {
  expect(shown(progress('Installing 2 of 3.'))).toBe('module  a.py  Installing 2 of 3.\n')
  const forged = shown(progress(`numpy\r\n\u001b[2Jmodule  good.py${'x'.repeat(100)}`), 40)
  expect(forged.split('\n')).toEqual([expect.stringMatching(/^module {2}a\.py {2}numpy.{20}$/), ''])
  expect(forged).not.toContain('\u001b')
})
