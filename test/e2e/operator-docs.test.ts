import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { parseJobKeys } from '../../functions/src/access/job-keys.ts'
import { parseConfig } from '../../functions/src/hosts/config.ts'
import { Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const RUN = read('docs/how-to/run.md')
const CONFIGURATION = read('docs/reference/configuration.md')
const USERS = fileURLToPath(new URL('functions/src/hosts/local/users-cli.ts', ROOT))

const withSqlite = spawnSync('sqlite3', ['--version']).status === 0 ? test : test.skip

/** Runs a line of a page, with this Node as `node`. */
function shell(line: string, cwd: string) {
  const env = { PATH: `${join(process.execPath, '..')}:${process.env['PATH']}` }
  return spawnSync('sh', ['-c', line], { cwd, env, encoding: 'utf8' })
}

test('the commands of docs/how-to/run.md that add users print two tokens each', () => {
  using data = temporaryFolder()
  const commands = [...RUN.matchAll(/^npm run users -- (.+)$/gm)].map(([, args = '']) => args.split(' '))
  expect(commands.length).toBe(2)
  for (const args of commands) {
    const env = { PATH: process.env['PATH'], TOOLRACK_DATA: data.path }
    const { status, stdout } = spawnSync(process.execPath, [USERS, ...args], { env, encoding: 'utf8' })
    expect([status, stdout.match(/token +\S{43}$/gm)?.length]).toEqual([0, 2])
  }
})

withSqlite('the commands of docs/how-to/run.md copy the databases of a running server', async () => {
  await using server = await Server.start()
  const commands = RUN.match(/^sqlite3 \.toolrack\/.+$/gm) ?? []
  expect(commands.length).toBe(3)
  for (const command of commands) {
    const { status, stderr } = shell(command.replace('.toolrack/', ''), server.data)
    expect([command, status, stderr]).toEqual([command, 0, ''])
    const [, copy = ''] = /\.backup (\S+)"/.exec(command) ?? []
    using database = new DatabaseSync(join(server.data, copy))
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    expect(database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.['tables']).not.toBe(0)
  }
})

test('the file of docs/reference/configuration.md is a right configuration', () => {
  using folder = temporaryFolder()
  const [, text = ''] = /^```json\n([^]+?)^```$/m.exec(CONFIGURATION) ?? []
  const path = join(folder.path, 'toolrack.json')
  writeFileSync(path, text)
  expect(parseConfig({ TOOLRACK_CONFIG: path })).toMatchObject({ port: 9405 })
})

test('the command of docs/reference/configuration.md prints a set of keys that the service takes', () => {
  const [line = ''] = /^node -e .+$/m.exec(CONFIGURATION) ?? []
  const { stdout, stderr } = shell(line, '/')
  expect(stderr).toBe('')
  expect(parseJobKeys(stdout.trim())).toBeDefined()
})
