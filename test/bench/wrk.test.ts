import { afterAll, expect, test } from '@jest/globals'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { childrenMs } from '../../bench/generator/wrk.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const WRK = new URL('bench/generator/wrk.ts', ROOT)
const { stdout: bash } = spawnSync('sh', ['-c', 'command -v bash'], { encoding: 'utf8' })
const LOCALE = 'de_DE.UTF-8'
/** A locale that writes a comma in a number. Its source comes with the C library on most systems. */
const folder = temporaryFolder()
const made = spawnSync('localedef', ['-i', 'de_DE', '-f', 'UTF-8', join(folder.path, LOCALE)])
const withComma = bash && made.status === 0 ? test : test.skip
afterAll(() => folder[Symbol.dispose]())

test('the processor time of wrk is the one of the children of the shell', () => {
  expect(childrenMs('0m0.010s 0m0.020s\n1m1.500s 0m0.700s\n{}')).toBe(62_200)
})

test('an output without this time is an error, and not a time of 0', () => {
  expect(() => childrenMs('0m0,010s 0m0,020s\n0m1,500s 0m0,700s\n{}')).toThrow(/the processor time of wrk/)
})

withComma('bash prints the time of wrk with a point, whatever the locale', () => {
  symlinkSync(bash.trim(), join(folder.path, 'sh'))
  // It is busy for a moment, and prints what wrk.lua prints.
  const lines = [
    '#!/bin/sh',
    '[ "$1" = -v ] && echo "wrk 4.1.0 [epoll]" && exit',
    'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done',
    `echo '{"errors":0}'`,
  ]
  writeFileSync(join(folder.path, 'wrk'), lines.join('\n'))
  chmodSync(join(folder.path, 'wrk'), 0o755)
  const load = { url: 'http://127.0.0.1', paths: ['/'], headers: {}, connections: 1, seconds: 1 }
  const code = `const { findWrk } = await import(${JSON.stringify(WRK.href)})
    const found = findWrk() ?? { run: () => { throw new Error('wrk was not found') } }
    console.log((await found.run(${JSON.stringify(load)})).cpuMs)`
  const env = {
    ...process.env,
    LOCPATH: folder.path,
    LC_ALL: LOCALE,
    PATH: [folder.path, process.env['PATH']].join(delimiter),
  }
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code]
  expect(Number(execFileSync(process.execPath, args, { env, encoding: 'utf8' }))).toBeGreaterThan(0)
})
