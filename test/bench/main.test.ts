import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../support/source-tree.ts'

const MAIN = fileURLToPath(new URL('bench/main.ts', ROOT))
const PAGE = new URL('bench/RESULTS.md', ROOT)
const RESULT = new URL('bench/results/client-fallback.json', ROOT)
const saved = () => [PAGE, RESULT].map((file) => existsSync(file) && readFileSync(file, 'utf8'))

test('a run without --save says so first, prints the rows that it measured and no other, and changes no saved result', () => {
  const before = saved()
  const args = ['--disable-warning=ExperimentalWarning', MAIN, '--rounds=1', '--seconds=1', 'client-fallback']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  const [header, rule, ...lines] = stdout.split('\n')
  const [rows, rest] = [lines.slice(0, lines.indexOf('')), lines.slice(lines.indexOf('') + 1)]
  expect([header, rule]).toEqual([
    expect.stringMatching(/^\| case \| what /),
    expect.stringMatching(/^\|---\|/),
  ])
  expect(rows.length).toBeGreaterThan(5)
  expect(rows.filter((row) => !row.startsWith('| client-fallback | '))).toEqual([])
  expect(rest).toEqual([expect.stringMatching(/^- client-fallback: .* 1 rounds\.$/), ''])
  expect(stderr).toMatch(
    /^Not saved: npm run bench -- --save writes bench\/results\/ and bench\/RESULTS.md\n/,
  )
  expect(stderr).toMatch(/\nSeconds: client-fallback (\d+); together \1\.\n$/)
  expect(status).toBe(0)
  expect(saved()).toEqual(before)
}, 120_000)
